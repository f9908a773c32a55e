package loaders_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// textOf prints the tensors of a batch.
func textOf(t *testing.T, b *loaders.Batch) string {
	t.Helper()
	text := ""
	for _, name := range b.Names() {
		x := b.Tensor(name)
		text += fmt.Sprintln(name, x.Shape(), x.Value())
	}
	return text
}

// shuffled turns shuffling on, over two epochs.
func shuffled(f *fixture.Dataset) {
	maps.Copy(f.Args, fixture.Object{
		"shuffle": true, "num_shuffle_buffer_elements": 10, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2,
		"num_parallel_reads": 2, "num_parallel_parses": 2, "num_prefetch": 2,
		"epochs": 2, "seed": 11, "target_batch_size": 4, "padding": true,
	})
}

// stateDatasets are datasets to save the state of.
func stateDatasets(t *testing.T) map[string]*fixture.Dataset {
	data := newSequenceData([][]int{{3, 0, 9, 4, 4, 5}, {2, 2, 2, 2, 2, 2, 2}, {}, {12, 1, 7}})
	datasets := map[string]*fixture.Dataset{}
	for name, w := range map[string]window{
		"continuous":         {kind: "continuous_sequence", min: 1, max: 5},
		"continuous overlap": {kind: "continuous_sequence", min: 1, max: 5, stride: 2},
		"continuous equal":   {kind: "continuous_sequence", min: 3, max: 3},
		"discrete":           {kind: "discrete_sequence", min: 1, max: 3},
	} {
		w.tail = "keep"
		for _, order := range []string{"", " shuffled"} {
			f := newSequence(t, w.kind, data)
			w.set(f)
			shuffled(f)
			if order == "" {
				f.Args["shuffle"] = false
			}
			datasets[name+order] = f
		}
	}
	f := fixture.New(t)
	shuffled(f)
	for i := range int64(3) {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(10*i, 10*i+7)...)
	}
	datasets["independent shuffled"] = f
	f = fixture.New(t)
	shuffled(f)
	// All records are in the buffer long before an epoch ends, and more than one group
	// is parsed: a state between two epochs has no open file.
	f.Args["num_shuffle_buffer_elements"] = 200
	for i := range int64(3) {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(100*i, 100*i+40)...)
	}
	datasets["independent in one buffer"] = f
	return datasets
}

// TestStateOfEveryBatch resumes from the state of every batch, in another graph and
// session, and expects the same batches as in an uninterrupted run.
func TestStateOfEveryBatch(t *testing.T) {
	testruntime.Need(t)
	for name, f := range stateDatasets(t) {
		t.Run(name, func(t *testing.T) {
			testStates(t, openSequence(t, f), openSequence(t, f))
			if strings.HasPrefix(name, "independent") {
				testStates(t, openGeneral(t, f), openGeneral(t, f))
			}
		})
	}
}

// openGeneral opens a dataset without our own operations.
func openGeneral(t *testing.T, f *fixture.Dataset) *loaders.Loader {
	t.Helper()
	f.Save(t)
	p, problems := loaders.Check(f.Config(), nil)
	if p == nil {
		t.Fatal(problems)
	}
	p.NativeLibrary = ""
	l, err := loaders.OpenPlan(p, unoptimized(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func testStates(t *testing.T, first, second *loaders.Loader) {
	t.Helper()
	var want []string
	var states [][]byte
	for b, err := range first.Run(t.Context(), &loaders.RunOptions{SaveEvery: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		want, states = append(want, textOf(t, b)), append(states, b.State())
	}
	for i, state := range states {
		got := []string{}
		for b, err := range second.Run(t.Context(), &loaders.RunOptions{State: state}) {
			if err != nil {
				t.Fatalf("from batch %d: %v", i, err)
			}
			got = append(got, textOf(t, b))
		}
		if diff := cmp.Diff(want[i+1:], got); diff != "" {
			t.Fatalf("from batch %d (-whole +rest)\n%s", i, diff)
		}
	}
}

func TestStateIsChecked(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	shuffled(f)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 20)...)
	var state []byte
	l := openSequence(t, f)
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{SaveEvery: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if state = b.State(); state != nil {
			break
		}
	}
	f.Args["seed"] = 12
	reseeded := openSequence(t, f)
	f.Args["target_batch_size"] = 3
	rebatched := openSequence(t, f)
	damaged := slices.Clone(state)
	damaged[len(damaged)-1] ^= 1
	for _, test := range []struct {
		name  string
		l     *loaders.Loader
		state []byte
		want  string
	}{
		{"empty", l, []byte{}, "not a saved state"},
		{"damaged", l, damaged, "damaged"},
		{"cut", l, state[:len(state)-9], "damaged"},
		{"another position", l, bytes.Replace(state, []byte(`"record":8`), []byte(`"record":4`), 1), "damaged"},
		{"another seed", reseeded, state, "seed 11"},
		{"another config", rebatched, state, "another loader config"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, err := range test.l.Run(t.Context(), &loaders.RunOptions{State: test.state}) {
				if !errors.Is(err, millrace.ErrCheckpoint) || !bytes.Contains([]byte(err.Error()), []byte(test.want)) {
					t.Errorf("error %v, want of class checkpoint with %q", err, test.want)
				}
			}
		})
	}
}
