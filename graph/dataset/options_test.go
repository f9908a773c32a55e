package dataset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// The rewrites change the datasets that TensorFlow runs, but not the elements.
func TestRewrites(t *testing.T) {
	maps := func(d *dataset.Dataset) *dataset.Dataset { return d.Map("a", double, nil).Map("b", double, nil) }
	filters := func(d *dataset.Dataset) *dataset.Dataset { return d.Filter("a", always).Filter("b", always) }
	mapBatch := func(d *dataset.Dataset) *dataset.Dataset { return d.Map("a", double, nil).Batch(2, true) }
	mapFilter := func(d *dataset.Dataset) *dataset.Dataset { return d.Map("a", double, nil).Filter("b", always) }
	batch := func(d *dataset.Dataset) *dataset.Dataset { return d.Batch(2, true) }
	repeat := func(d *dataset.Dataset) *dataset.Dataset {
		return d.Shuffle(4, &dataset.ShuffleOptions{Seed: 1}).Repeat(2)
	}
	noop := func(d *dataset.Dataset) *dataset.Dataset { return d.Skip(0).Map("a", double, nil) }
	tests := []struct {
		name     string
		pipeline func(*dataset.Dataset) *dataset.Dataset
		rewrites dataset.Rewrites
		next     []string // the only datasets that run
	}{
		{"map fusion", maps, dataset.Rewrites{MapFusion: dataset.On}, []string{"ParallelMap", "FiniteTake"}},
		{"no map fusion", maps, dataset.Rewrites{MapFusion: dataset.Off, MapParallelization: dataset.Off}, []string{"Map", "Map"}},
		{"filter fusion", filters, dataset.Rewrites{FilterFusion: dataset.On}, []string{"Filter", "FiniteTake"}},
		{"filters in parallel", filters, dataset.Rewrites{FilterParallelization: dataset.On}, []string{"ParallelFilter", "ParallelFilter"}},
		{"map and filter", mapFilter, dataset.Rewrites{MapAndFilterFusion: dataset.On, MapParallelization: dataset.Off}, []string{"Map", "Filter", "Map"}},
		{"no map and filter", mapFilter, dataset.Rewrites{MapParallelization: dataset.Off}, []string{"Map", "Filter", "FiniteTake"}},
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

// No rewrite changes the elements of any transformation: all of them together, and in
// "make soak" each alone.
func TestRewritesOfEveryTransformation(t *testing.T) {
	sets := map[string]dataset.Rewrites{}
	together := dataset.Rewrites{}
	for i := range reflect.TypeFor[dataset.Rewrites]().NumField() {
		on := reflect.ValueOf(dataset.On)
		reflect.ValueOf(&together).Elem().Field(i).Set(on)
		if alone := (dataset.Rewrites{}); soak.Long() {
			reflect.ValueOf(&alone).Elem().Field(i).Set(on)
			sets[reflect.TypeFor[dataset.Rewrites]().Field(i).Name] = alone
		}
	}
	sets["together"] = together
	for name, build := range savable(textFiles(t), t.TempDir()) {
		if name == "Random" || name == "RandomVary" {
			continue // sources: nothing to rewrite, and other numbers in each session
		}
		s := newScope(t)
		plain := all(t, build(s).WithOptions(&dataset.Options{NoOptimization: true}))
		if len(plain) < 3 {
			t.Errorf("%s: %d elements", name, len(plain))
		}
		for set, rewrites := range sets {
			got, err := tryAll(t, build(s).WithOptions(&dataset.Options{Rewrites: rewrites}))
			if err != nil {
				t.Errorf("%s, %s: %v", name, set, err)
			} else if diff := cmp.Diff(plain, got); diff != "" {
				t.Errorf("%s, %s (-without +with)\n%s", name, set, diff)
			}
		}
	}
}

func TestAssertNextFails(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 4, 1).AssertNext("Shuffle").Batch(2, true)
	if _, err := tryAll(t, d); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("error %v", err)
	}
}

// serializedOptions returns the fields that options set in the message that
// TensorFlow reads, as "autotune_options.cpu_budget=2".
func serializedOptions(t *testing.T, o *dataset.Options) []string {
	t.Helper()
	s := newScope(t)
	d := dataset.Range(s, 0, 1, 1).WithOptions(o)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	value, err := d.Variant().Op.Attr("serialized_options")
	if err != nil {
		t.Fatal(err)
	}
	p := &tfproto.Options{}
	if err := proto.Unmarshal([]byte(value.(string)), p); err != nil {
		t.Fatal(err)
	}
	return fieldsOf(p.ProtoReflect(), "")
}

// fieldsOf returns the scalar fields that are set in a message and those in it.
func fieldsOf(m protoreflect.Message, prefix string) (fields []string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := prefix + string(f.Name())
		if f.Message() != nil {
			fields = append(fields, fieldsOf(v.Message(), name+".")...)
		} else {
			fields = append(fields, fmt.Sprintf("%s=%v", name, v))
		}
		return true
	})
	slices.Sort(fields)
	return fields
}

// Each option sets its field of the message that TensorFlow reads, and no other. Most
// of them change the speed alone, which elements do not show.
func TestEveryOption(t *testing.T) {
	defaults := []string{"autotune_options.enabled=true", "deterministic=true", "symbolic_checkpoint=false"}
	if diff := cmp.Diff(defaults, serializedOptions(t, nil)); diff != "" {
		t.Fatalf("without options (-want +got)\n%s", diff)
	}
	tests := []struct {
		options dataset.Options
		want    string // the field that is set in addition to the defaults, or instead of one
	}{
		{dataset.Options{Name: "numbers"}, "dataset_name=numbers"},
		{dataset.Options{Sloppy: true}, "deterministic=false"},
		{dataset.Options{NoAutotune: true}, "autotune_options.enabled=false"},
		{dataset.Options{NoOptimization: true}, "optimization_options.apply_default_optimizations=false"},
		{dataset.Options{CPUBudget: 2}, "autotune_options.cpu_budget=2"},
		{dataset.Options{RAMBudget: 3 << 20}, "autotune_options.ram_budget=3145728"},
		{dataset.Options{Parallelism: 4}, "autotune_options.initial_parallelism=4"},
		{dataset.Options{MinParallelism: 5}, "autotune_options.min_parallelism=5"},
		{dataset.Options{Algorithm: dataset.AutotuneStageBased}, "autotune_options.autotune_algorithm=4"},
		{dataset.Options{PrivateThreads: 6}, "threading_options.private_threadpool_size=6"},
		{dataset.Options{IntraOpThreads: 7}, "threading_options.max_intra_op_parallelism=7"},
		{dataset.Options{PrefetchOpenings: true}, "optimization_options.seq_interleave_prefetch=true"},
		{dataset.Options{WarmStart: true}, "warm_start=true"},
		{dataset.Options{Slack: true}, "slack=true"},
		{dataset.Options{Rewrites: dataset.Rewrites{FilterFusion: dataset.On}}, "optimization_options.filter_fusion=true"},
		{dataset.Options{Rewrites: dataset.Rewrites{FilterParallelization: dataset.On}}, "optimization_options.filter_parallelization=true"},
		{dataset.Options{Rewrites: dataset.Rewrites{InjectPrefetch: dataset.Off}}, "optimization_options.inject_prefetch=false"},
		{dataset.Options{Rewrites: dataset.Rewrites{MapAndBatchFusion: dataset.Off}}, "optimization_options.map_and_batch_fusion=false"},
		{dataset.Options{Rewrites: dataset.Rewrites{MapAndFilterFusion: dataset.On}}, "optimization_options.map_and_filter_fusion=true"},
		{dataset.Options{Rewrites: dataset.Rewrites{MapFusion: dataset.On}}, "optimization_options.map_fusion=true"},
		{dataset.Options{Rewrites: dataset.Rewrites{MapParallelization: dataset.Off}}, "optimization_options.map_parallelization=false"},
		{dataset.Options{Rewrites: dataset.Rewrites{NoopElimination: dataset.Off}}, "optimization_options.noop_elimination=false"},
		{dataset.Options{Rewrites: dataset.Rewrites{ShuffleAndRepeatFusion: dataset.Off}}, "optimization_options.shuffle_and_repeat_fusion=false"},
	}
	for _, tt := range tests {
		name, _, _ := strings.Cut(tt.want, "=")
		t.Run(name, func(t *testing.T) {
			want := append(slices.DeleteFunc(slices.Clone(defaults), func(f string) bool { return strings.HasPrefix(f, name+"=") }), tt.want)
			slices.Sort(want)
			if diff := cmp.Diff(want, serializedOptions(t, &tt.options)); diff != "" {
				t.Errorf("fields (-want +got)\n%s", diff)
			}
		})
	}
}

// TensorFlow takes the options together, and the elements are the same.
func TestOptionsKeepElements(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 20, 1).MapParallel("a", dataset.Autotune, double).Prefetch(2).WithOptions(&dataset.Options{
		Name: "numbers", CPUBudget: 2, RAMBudget: 1 << 20, Parallelism: 2, MinParallelism: 1,
		PrivateThreads: 2, IntraOpThreads: 1, PrefetchOpenings: true, WarmStart: true, Slack: true,
	})
	if got := all(t, d); len(got) != 20 || got[19] != int64(38) {
		t.Errorf("elements %v", got)
	}
	for a := dataset.AutotuneDefault; a <= dataset.AutotuneStageBased; a++ {
		d := dataset.Range(s, 0, 20, 1).MapParallel("a", dataset.Autotune, double).WithOptions(&dataset.Options{Algorithm: a})
		if got := all(t, d); len(got) != 20 || got[19] != int64(38) {
			t.Errorf("autotune algorithm %d: elements %v", a, got)
		}
	}
	d.WithOptions(&dataset.Options{Algorithm: dataset.AutotuneStageBased + 1})
	isClass(t, s.Err(), millrace.ErrModel)
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
	want[0], want[1] = want[1], want[0] // element 0 was saved to the second shard
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
