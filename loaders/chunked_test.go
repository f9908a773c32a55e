package loaders_test

import (
	"testing"

	"millrace/internal/test/cases"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// engineCases are cases of type chunked_sequence that together have all arguments.
// cmd/millrace runs the other cases, but only with our own operations, because a
// session is slow.
var engineCases = []string{
	"chunk-budget-fixed", "chunk-budget-zeros", "chunk-const", "chunk-context-mask", "chunk-context-sides", "chunk-context-value",
	"chunk-context-whole", "chunk-copied", "chunk-empty-sequences", "chunk-epochs-infinite", "chunk-example-copied", "chunk-gzip",
	"chunk-laplace-about", "chunk-order-sorted-steps", "chunk-partition-more", "chunk-rand-003", "chunk-rand-011",
	"chunk-random-order-partition", "chunk-shuffle-all", "chunk-shuffle-frames", "chunk-tail-drop-short", "chunk-unaligned",
	"chunk-with-all", "chunk-with-seq-tag-feature", "chunk-with-sizes-copied",
}

// openCase opens a case's loader with our own operations, or without.
func openCase(t *testing.T, dir string, native bool) *loaders.Loader {
	t.Helper()
	seed := int64(7)
	o := &loaders.CheckOptions{Seed: &seed}
	if path := cases.Model(dir); path != "" {
		o.Model, _ = spec.ReadModelNames(path)
	}
	p, problems := loaders.Check(dir+"/loader.json", o)
	if p == nil {
		t.Fatal(problems)
	}
	if !native {
		p.NativeLibrary = ""
	}
	return openPlan(t, p)
}

// firstTexts returns up to n batches of a run and the states after them.
func firstTexts(t *testing.T, l *loaders.Loader, n int, o *loaders.RunOptions) (texts []string, states [][]byte) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		texts, states = append(texts, textOf(t, b)), append(states, b.State())
		if len(texts) == n {
			break
		}
	}
	return texts, states
}

// TestChunkEnginesAgree runs cases with our own operations and with TensorFlow's, which
// must give the same batches. Both are resumed from a state.
func TestChunkEnginesAgree(t *testing.T) {
	testruntime.Need(t)
	for _, name := range engineCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := cases.Prepare(t, name)
			most := 1 << 30
			if take := cases.Read(t, name).Properties.Take; take != nil {
				most = *take
			}
			run := &loaders.RunOptions{SaveEvery: 2}
			general, native := openCase(t, dir, false), openCase(t, dir, true)
			want, states := firstTexts(t, general, most, run)
			got, nativeStates := firstTexts(t, native, most, run)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-general +native)\n%s", diff)
			}
			if len(want) < 3 {
				return
			}
			i := len(name)%((len(want)-1)/2)*2 + 1 // one of the batches with a state
			for kind, l := range map[string]*loaders.Loader{"general": general, "native": native} {
				state := states[i]
				if kind == "native" {
					state = nativeStates[i]
				}
				rest, _ := firstTexts(t, l, len(want)-i-1, &loaders.RunOptions{State: state})
				if diff := cmp.Diff(want[i+1:], rest); diff != "" {
					t.Errorf("%s, from the state of batch %d (-whole +rest)\n%s", kind, i, diff)
				}
			}
		})
	}
}

// TestChunkErrorsOfBothEngines runs the cases that fail while data are read: the errors
// of both engines name the fault and its place.
func TestChunkErrorsOfBothEngines(t *testing.T) {
	testruntime.Need(t)
	for _, name := range []string{
		"chunk-err-missing-list", "chunk-err-padding-long", "chunk-err-truncated", "chunk-err-unaligned-one", "chunk-err-unaligned-record",
	} {
		dir, c := cases.Prepare(t, name), cases.Read(t, name)
		for _, native := range []bool{false, true} {
			p, problems := loaders.Check(dir+"/loader.json", nil)
			if p == nil {
				t.Fatal(problems)
			}
			if !native {
				p.NativeLibrary = ""
			}
			l, err := loaders.OpenPlan(p, nil)
			if err == nil {
				for _, err = range l.Batches(t.Context()) {
				}
				l.Close()
			}
			if err == nil {
				t.Errorf("%s, native %v: no error", name, native)
			} else if err := cases.Compare(c, nil, []byte(err.Error()), 1); err != nil {
				t.Errorf("%s, native %v: %v", name, native, err)
			}
		}
	}
}

// TestChunkWaste counts the padding of rows by hand: of lengths 4, 1, 3 and
// 2, 2, 2, where pair is padded from 2 to 4 columns.
func TestChunkWaste(t *testing.T) {
	testruntime.Need(t)
	want := []loaders.TensorWaste{{Tensor: "pair", Share: 1 - 28./72}, {Tensor: "pos", Share: 1 - 14./18}}
	f := newSequence(t, "chunked_sequence", newSequenceData([][]int{{4, 1, 3, 2, 2, 2}}))
	delete(f.Args, "target_batch_size")
	delete(f.Args, "drop_remainder")
	f.Args["batch_size"] = 12
	f.Args["padding"] = []fixture.Object{{"tensor": "pair", "shape": []int{-1, 4}}}
	f.Save(t)
	for _, native := range []bool{false, true} {
		plan, problems := loaders.Check(f.Config(), nil)
		if plan == nil {
			t.Fatal(problems)
		}
		if !native {
			plan.NativeLibrary = ""
		}
		measuring, waste := loaders.MeasurePadding(plan)
		for b, err := range openPlan(t, measuring).Batches(t.Context()) {
			if err == nil {
				err = waste.Add(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, waste.Tensors(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("native %v (-want +got)\n%s", native, diff)
		}
	}
}
