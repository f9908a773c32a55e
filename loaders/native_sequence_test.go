package loaders_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// exampleSequence returns a sequence dataset over files of the given numbers
// of Examples, of five positions each.
func exampleSequence(t *testing.T, w window, files ...int) *fixture.Dataset {
	const length = 5
	f := fixture.New(t)
	f.Type = w.kind
	f.Manifest["features"] = []fixture.Object{
		{"name": "pos", "dtype": "int64", "shape": []int{length}, "deserialize_type": "int"},
		{"name": "pair", "dtype": "float32", "shape": []int{length, 2}, "deserialize_type": "float"},
	}
	f.Args["primary_features"] = []fixture.Object{
		{"from_name": "pair", "to_name": "pair"}, {"from_name": "pos", "to_name": "pos"},
	}
	n := int64(0)
	for i, records := range files {
		var data [][]byte
		for range records {
			var pos []int64
			var pair []float32
			for range length {
				pos, pair = append(pos, n), append(pair, float32(n), -float32(n))
				n++
			}
			data = append(data, example.Marshal([]example.Named{
				{Name: "pair", Feature: fixture.Floats(pair...)}, {Name: "pos", Feature: fixture.Ints(pos...)},
			}))
		}
		f.WriteRecords(t, fmt.Sprintf("%02d.tfrecords", i), data...)
	}
	w.set(f)
	return f
}

// textsOf returns the batches of a run, printed, and their states.
func textsOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (texts []string, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		texts, states = append(texts, textOf(t, b)), append(states, b.State())
	}
	return texts, states
}

// openPlan opens a plan for the length of a test.
func openPlan(t testing.TB, p *loaders.Plan) *loaders.Loader {
	t.Helper()
	l, err := loaders.OpenPlan(p, unoptimized(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// unoptimized returns options with which a test starts loaders in a third of the time:
// TensorFlow runs their graphs as they were built. Package build, the examples and the
// commands test the same pipelines with TensorFlow's optimizer. Benchmarks use it too, and
// so does "make optimized".
func unoptimized(t testing.TB) *loaders.Options {
	if _, benchmark := t.(*testing.B); benchmark || os.Getenv("MILLRACE_TEST_OPTIMIZED") != "" {
		return nil
	}
	return &loaders.Options{Session: graphtest.Unoptimized(t)}
}

// TestNativeWindowsAreTheGeneralOnes compares the windows of random plans that our own
// operation cuts with those of the general plan, and resumes the former from states.
func TestNativeWindowsAreTheGeneralOnes(t *testing.T) {
	testruntime.Need(t)
	for seed := range uint64(6) {
		for _, kind := range []string{"continuous_sequence", "discrete_sequence"} {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 2))
				w := randomWindow(r, kind)
				f := exampleSequence(t, w, 1+r.IntN(20), r.IntN(3), 40)
				shuffled(f)
				f.Args["shuffle"], f.Args["seed"] = seed%2 == 0, seed
				f.Save(t)
				plan, problems := loaders.Check(f.Config(), nil)
				if plan == nil {
					t.Fatal(problems)
				}
				if plan.NativeLibrary == "" {
					t.Skip("the native library is not built")
				}
				general := *plan
				general.NativeLibrary = ""
				want, _ := textsOf(t, openPlan(t, &general), nil)
				native := openPlan(t, plan)
				got, states := textsOf(t, native, &loaders.RunOptions{SaveEvery: 1})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%+v (-general +native)\n%s", w, diff)
				}
				i := r.IntN(len(states))
				rest, _ := textsOf(t, native, &loaders.RunOptions{State: states[i]})
				if diff := cmp.Diff(want[i+1:], append([]string{}, rest...)); diff != "" {
					t.Errorf("%+v, from the state of batch %d (-whole +rest)\n%s", w, i, diff)
				}
			})
		}
	}
}
