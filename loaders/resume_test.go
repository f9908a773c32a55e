package loaders_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// mostStateBytes is the largest size of a state that is a position.
const mostStateBytes = 4 << 10

// mixed returns a dataset of files of several sizes, which may be empty, shuffled in
// buffers of several sizes.
func mixed(t *testing.T, r *rand.Rand) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	first := int64(0)
	for i := range 1 + r.IntN(5) {
		n := r.Int64N(9)
		if i == 0 {
			n++
		}
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(first, first+n)...)
		first += n
	}
	shuffled(f)
	maps.Copy(f.Args, fixture.Object{
		"num_shuffle_buffer_elements": 1 + r.IntN(12), "num_filenames_shuffle_buffer": 1 + r.IntN(4), "num_mix_files": 1 + r.IntN(4),
		"num_parallel_reads": 1 + r.IntN(3), "target_batch_size": 1 + r.IntN(5), "epochs": 3, "seed": r.IntN(1000),
	})
	return f
}

// A state of records that are shuffled in buffers is a position. From there on the
// batches are those of an uninterrupted run, with either engine and any number of
// threads.
func TestShuffledRecordsAreResumed(t *testing.T) {
	testruntime.Need(t)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := mixed(t, r)
		want, states := textsOf(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
		maps.Copy(f.Args, fixture.Object{"num_parallel_reads": 4, "num_parallel_parses": 3, "num_prefetch": 5})
		engines := map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)}
		for range 4 {
			at := r.IntN(len(states))
			if n := len(states[at]); n > mostStateBytes {
				t.Errorf("seed %d: a state of %d bytes, want at most %d", seed, n, mostStateBytes)
			}
			for engine, l := range engines {
				got, _ := textsOf(t, l, &loaders.RunOptions{State: states[at]})
				if diff := cmp.Diff(want[at+1:], got); diff != "" && len(want) > at+1 {
					t.Fatalf("seed %d, %s, from batch %d (-whole +rest)\n%s", seed, engine, at, diff)
				}
			}
		}
	}
}

// A state after a large shuffle buffer holds none of the buffer's records.
func TestStateHoldsNoBuffer(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	var records [][]byte
	for i := range int64(200) {
		unread := example.Named{Name: "unread", Feature: fixture.Floats(make([]float32, 2000)...)}
		records = append(records, append(fixture.Record(i), example.Marshal([]example.Named{unread})...))
	}
	f.WriteRecords(t, "a.tfrecords", records...)
	shuffled(f)
	f.Args["num_shuffle_buffer_elements"] = 100
	for b, err := range openSequence(t, f).Run(t.Context(), &loaders.RunOptions{SaveEvery: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(b.State()); n > mostStateBytes {
			t.Fatalf("a state of %d bytes, want at most %d", n, mostStateBytes)
		}
	}
}

// Windows with known positions are resumed in the same way.
func TestShuffledWindowsAreResumed(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"apart": nil, "gaps": {"stride": 6}, "padded, overlapping": {"tail": "pad", "stride": 3},
		"sliced": {"processing_steps": []fixture.Object{{"tensor": "pos", "type": "slice", "args": fixture.Object{"slice": "[1:]"}}}},
	} {
		f := wavesData(t, args)
		maps.Copy(f.Args, fixture.Object{
			"shuffle": true, "num_shuffle_buffer_elements": 3, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2, "epochs": 2,
		})
		want, states := textsOf(t, openSequence(t, f), &loaders.RunOptions{SaveEvery: 1})
		for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
			for at, state := range states {
				if len(state) > mostStateBytes {
					t.Errorf("%s: a state of %d bytes, want at most %d", name, len(state), mostStateBytes)
				}
				got, _ := textsOf(t, l, &loaders.RunOptions{State: state})
				if diff := cmp.Diff(want[at+1:], got); diff != "" && len(want) > at+1 {
					t.Fatalf("%s, %s, from batch %d (-whole +rest)\n%s", name, engine, at, diff)
				}
			}
		}
	}
}

// A state may be saved when a bad record was already read ahead. A run from that state
// continues after the good batches when the data have been repaired.
func TestStateBeforeAFaultGoesOn(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 40)...)
	f.Args["num_prefetch"], f.Args["target_batch_size"], f.Args["seed"] = 2000, 2, 1 // tf.data prepares them
	f.Save(t)
	want, _ := textsOf(t, openSequence(t, f), nil)
	sound, err := os.ReadFile(f.Path("a.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(sound)
	damaged[len(damaged)-20] ^= 1
	native := func(t *testing.T, f *fixture.Dataset) *loaders.Loader { return openSequence(t, f) }
	for _, open := range []func(*testing.T, *fixture.Dataset) *loaders.Loader{native, openGeneral} {
		f.Write(t, "a.tfrecords", damaged)
		var state []byte
		var failed error
		for b, err := range open(t, f).Run(t.Context(), &loaders.RunOptions{SaveEvery: 1}) {
			if failed = err; err == nil {
				state = b.State()
			}
		}
		if failed == nil {
			t.Fatal("a damaged record was read")
		}
		f.Write(t, "a.tfrecords", sound)
		got, _ := textsOf(t, open(t, f), &loaders.RunOptions{State: state})
		if diff := cmp.Diff(want[len(want)-1:], got); diff != "" {
			t.Errorf("(-last +rest)\n%s", diff)
		}
	}
}
