package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// What TensorFlow runs changes with the rewrites, and the elements do not.
func TestRewrites(t *testing.T) {
	maps := func(d *dataset.Dataset) *dataset.Dataset { return d.Map("a", double, nil).Map("b", double, nil) }
	filters := func(d *dataset.Dataset) *dataset.Dataset { return d.Filter("a", always).Filter("b", always) }
	mapBatch := func(d *dataset.Dataset) *dataset.Dataset { return d.Map("a", double, nil).Batch(2, true) }
	batch := func(d *dataset.Dataset) *dataset.Dataset { return d.Batch(2, true) }
	repeat := func(d *dataset.Dataset) *dataset.Dataset {
		return d.Shuffle(4, &dataset.ShuffleOptions{Seed: 1}).Repeat(2)
	}
	noop := func(d *dataset.Dataset) *dataset.Dataset { return d.Skip(0).Map("a", double, nil) }
	tests := []struct {
		name     string
		pipeline func(*dataset.Dataset) *dataset.Dataset
		rewrites dataset.Rewrites
		next     []string // that runs; nothing else does
	}{
		{"map fusion", maps, dataset.Rewrites{MapFusion: dataset.On}, []string{"ParallelMap", "FiniteTake"}},
		{"no map fusion", maps, dataset.Rewrites{MapFusion: dataset.Off, MapParallelization: dataset.Off}, []string{"Map", "Map"}},
		{"filter fusion", filters, dataset.Rewrites{FilterFusion: dataset.On}, []string{"Filter", "FiniteTake"}},
		{"filters in parallel", filters, dataset.Rewrites{FilterParallelization: dataset.On}, []string{"ParallelFilter", "ParallelFilter"}},
		{"map and batch", mapBatch, dataset.Rewrites{}, []string{"MapAndBatch"}},
		{"no map and batch", mapBatch, dataset.Rewrites{MapAndBatchFusion: dataset.Off}, []string{"ParallelMap", "Batch"}},
		{"maps one by one", mapBatch, dataset.Rewrites{MapAndBatchFusion: dataset.Off, MapParallelization: dataset.Off}, []string{"Map", "Batch"}},
		{"shuffle and repeat", repeat, dataset.Rewrites{}, []string{"ShuffleAndRepeat"}},
		{"no shuffle and repeat", repeat, dataset.Rewrites{ShuffleAndRepeatFusion: dataset.Off}, []string{"Shuffle"}},
		{"nothing left out", noop, dataset.Rewrites{NoopElimination: dataset.Off}, []string{"FiniteSkip"}},
		{"nothing is left out", noop, dataset.Rewrites{}, []string{"ParallelMap"}},
		{"prefetch", batch, dataset.Rewrites{InjectPrefetch: dataset.On}, []string{"Batch", "Prefetch"}},
		{"no prefetch", batch, dataset.Rewrites{InjectPrefetch: dataset.Off}, []string{"Batch", "FiniteTake"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScope(t)
			ten := dataset.Range(s, 0, 10, 1)
			plain := all(t, test.pipeline(ten).WithOptions(&dataset.Options{NoOptimization: true}))
			d := test.pipeline(ten.AssertNext(test.next...)).Take(100)
			if last := test.next[len(test.next)-1]; last == "Prefetch" {
				d = test.pipeline(ten.AssertNext(test.next...))
			}
			got, err := tryAll(t, d.WithOptions(&dataset.Options{Rewrites: test.rewrites}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain, got); diff != "" {
				t.Errorf("elements (-without +with)\n%s", diff)
			}
		})
	}
}

func TestAssertNextFails(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 4, 1).AssertNext("Shuffle").Batch(2, true)
	if _, err := tryAll(t, d); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("error %v", err)
	}
}

func TestEveryOption(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 20, 1).MapParallel("a", dataset.Autotune, double).Prefetch(2).WithOptions(&dataset.Options{
		Name: "numbers", CPUBudget: 2, RAMBudget: 1 << 20, Parallelism: 2, MinParallelism: 1,
		PrivateThreads: 2, IntraOpThreads: 1, PrefetchOpenings: true, WarmStart: true, Slack: true,
		Rewrites: dataset.Rewrites{
			FilterFusion: dataset.On, FilterParallelization: dataset.On, InjectPrefetch: dataset.On,
			MapAndBatchFusion: dataset.On, MapAndFilterFusion: dataset.On, MapFusion: dataset.On,
			MapParallelization: dataset.On, NoopElimination: dataset.On, ShuffleAndRepeatFusion: dataset.On,
		},
	})
	if got := all(t, d); len(got) != 20 || got[19] != int64(38) {
		t.Errorf("elements %v", got)
	}
}

// A second pass over a snapshot reads what the first one wrote.
func TestSnapshotIsRead(t *testing.T) {
	for _, shards := range []int64{1, 3} {
		s := newScope(t)
		source := write(t, "a.txt", "a\nb\nc\nd\ne\n")
		dir := t.TempDir()
		d := dataset.TextLines(s, s.Const(source), nil).Snapshot(dir, &dataset.SnapshotOptions{Compression: "GZIP", Shards: shards})
		want := []any{"a", "b", "c", "d", "e"}
		if diff := cmp.Diff(want, all(t, d)); diff != "" {
			t.Errorf("written by %d (-want +got)\n%s", shards, diff)
		}
		if err := os.Remove(source); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, all(t, d)); diff != "" {
			t.Errorf("read by %d (-want +got)\n%s", shards, diff)
		}
	}
}

func TestSaveInShards(t *testing.T) {
	s := newScope(t)
	dir := filepath.Join(t.TempDir(), "saved")
	err := dataset.FromRows(s, everyKind()).Save(t.Context(), dir, &dataset.SaveOptions{
		Compression: "SNAPPY",
		Shard: func(s *graph.Scope, args outs) out { // clicks, then id
			return graph.FloorMod(s, args[1], s.Const(int64(2)))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	shards, err := filepath.Glob(filepath.Join(dir, "*", "*.shard"))
	if err != nil || len(shards) != 2 {
		t.Errorf("shards %v, %v", shards, err)
	}
	got := collect[everything](t, dataset.Load(s, dir, &dataset.LoadOptions{Compression: "SNAPPY"}))
	want := everyKind()
	want[0], want[1] = want[1], want[0] // the even one is in the first shard
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

func TestSaveFails(t *testing.T) {
	s := newScope(t)
	file := write(t, "file", "x")
	if err := dataset.Range(s, 0, 3, 1).Save(t.Context(), file, nil); err == nil {
		t.Error("saved in a file")
	}
	if err := dataset.Range(s, 0, 3, 1).Window(s.Const(int64(2)), nil).Save(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("saved windows")
	}
}
