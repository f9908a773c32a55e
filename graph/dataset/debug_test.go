package dataset_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// lineAfter returns the position of the line that follows the call by after lines.
func lineAfter(after int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+after)
}

// debugging returns a scope in debug mode, and a builder that collects one line per element
// of a stage.
func debugging(t *testing.T) (*graph.Scope, *strings.Builder) {
	t.Helper()
	var lines strings.Builder
	return dataset.WithDebugMode(newScope(t), &dataset.DebugOptions{Element: dataset.PrintElements(&lines)}), &lines
}

// Each stage reports each element, one after the other: nothing is prefetched, whatever the
// program requests, and a dataset in a function is a stage as well.
func TestDebugMode(t *testing.T) {
	s, lines := debugging(t)
	first := lineAfter(1)
	d := dataset.Range(s, 0, 4, 1)
	d = d.MapParallel("square", 4, func(s *graph.Scope, args outs) outs { return outs{graph.Mul(s, args[0], args[0])} }).Prefetch(10)
	d = d.Filter("odd", func(s *graph.Scope, args outs) out {
		return graph.Equal(s, graph.FloorMod(s, args[0], s.Const(int64(2))), s.Const(int64(1)))
	})
	d = d.Interleave("twice", func(s *graph.Scope, args outs) *dataset.Dataset {
		return dataset.FromTensors(s, args...).Repeat(2)
	}, &dataset.InterleaveOptions{CycleLength: 1, Parallel: dataset.Autotune})
	d = d.BatchParallel(3, false, 2)
	if got := collect[[]int64](t, d); !cmp.Equal(got, [][]int64{{1, 1, 9}, {9}}) {
		t.Errorf("batches %v", got)
	}
	at := func(after int) string {
		var n int
		file, _, _ := strings.Cut(first, ":")
		fmt.Sscanf(first[len(file)+1:], "%d", &n)
		return fmt.Sprintf("%s:%d", file, n+after)
	}
	want := strings.NewReplacer("R:", "Range at "+first, "M:", "MapParallel at "+at(1), "F:", "Filter at "+at(2),
		"T:", "FromTensors at "+at(6), "P:", "Repeat at "+at(6), "I:", "Interleave at "+at(5), "B:", "BatchParallel at "+at(8)).Replace(
		`R: [0] 0
M: [0] 0
R: [1] 1
M: [1] 1
F: [0] 1
T: [0] 1
P: [0] 1
I: [0] 1
T: [1] 1
P: [1] 1
I: [1] 1
R: [2] 2
M: [2] 4
R: [3] 3
M: [3] 9
F: [1] 9
T: [2] 9
P: [2] 9
I: [2] 9
B: [0] [1 1 9]
T: [3] 9
P: [3] 9
I: [3] 9
B: [1] [9]
`)
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Errorf("elements of stages (-want +got)\n%s", diff)
	}
}

// An error names the stage that failed, not the stages above it, which pass the error on,
// nor the stages below it, one of which has ended.
func TestDebugModeNamesTheStageThatFailed(t *testing.T) {
	numbers := func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 1, 4, 1) }
	vectors := func(s *graph.Scope, args outs) outs {
		return outs{graph.Fill(s, graph.ExpandDims(s, args[0], 0), args[0])}
	}
	positive := func(s *graph.Scope, args outs) outs {
		check := graph.Assert(s, graph.Less(s, args[0], s.Const(int64(3))), outs{args[0]}, nil)
		return outs{graph.Identity(s.WithControlDependencies(check), args[0])}
	}
	add := func(s *graph.Scope, args outs) outs { return args }
	tests := map[string]struct {
		build func(s *graph.Scope) *dataset.Dataset
		want  string
	}{
		"a function in the middle": {func(s *graph.Scope) *dataset.Dataset {
			return numbers(s).Map("positive", positive, nil).Map("same", add, nil).Batch(2, false)
		}, "Map at " + lineAfter(-1) + ", after 2 elements"},
		"a stage after the last element of another": {func(s *graph.Scope) *dataset.Dataset {
			return numbers(s).Map("vector", vectors, nil).Skip(1).Batch(3, false)
		}, "Batch at " + lineAfter(-1) + ", after 0 elements"},
		"a source": {func(s *graph.Scope) *dataset.Dataset {
			return dataset.TextLines(s, s.Const("/nowhere"), nil).Batch(1, false)
		}, "TextLines at " + lineAfter(-1) + ", after 0 elements"},
		"a dataset in a function": {func(s *graph.Scope) *dataset.Dataset {
			return numbers(s).FlatMap("inner", func(s *graph.Scope, args outs) *dataset.Dataset {
				return dataset.FromTensors(s, args...).Map("positive", positive, nil)
			})
		}, "Map at " + lineAfter(-2) + ", after 2 elements"},
		"behind errors that are ignored": {func(s *graph.Scope) *dataset.Dataset {
			return numbers(s).Map("positive", positive, nil).IgnoreErrors().Map("vector", vectors, nil).Batch(2, false)
		}, "Batch at " + lineAfter(-1) + ", after 0 elements"},
		"a function of several datasets": {func(s *graph.Scope) *dataset.Dataset {
			return numbers(s).PadToCardinality(2).Take(5)
		}, "PadToCardinality at " + lineAfter(-1) + ", after 2 elements"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := dataset.WithDebugMode(newScope(t), nil)
			_, err := tryAll(t, test.build(s))
			if err == nil || !strings.Contains(err.Error(), test.want+": ") {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// The elements are the same as Python's without debug mode.
func TestDebugModeChangesNoElement(t *testing.T) {
	recorded := recorded(t, "dataset.json")
	for name, build := range parity {
		t.Run(name, func(t *testing.T) {
			told := 0
			s := dataset.WithDebugMode(newScope(t), &dataset.DebugOptions{Element: func(e *dataset.DebugElement) error {
				told++
				return nil
			}})
			if diff := cmp.Diff(recorded[name], plain(t, collect[any](t, build(s)))); diff != "" {
				t.Errorf("elements (-Python +got)\n%s", diff)
			}
			if told == 0 {
				t.Error("no stage told of an element")
			}
		})
	}
}

// A listener sees fields, sparse and ragged parts. Its error ends the run.
func TestDebugModeOfFeatures(t *testing.T) {
	s, lines := debugging(t)
	f := &graph.ExampleFeatures{
		Dense:  []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		Sparse: []graph.SparseFeature{{Key: "words", DType: tfbridge.String}},
		Ragged: []graph.RaggedFeature{{Key: "tags", DType: tfbridge.Int64}},
	}
	options := &dataset.BatchedFeaturesOptions{Epochs: 1, InOrder: true}
	pattern := []string{batchedFiles(t)}
	want := plain(t, collect[any](t, dataset.MakeBatchedFeaturesDataset(newScope(t), pattern, 12, f, options)))
	d := dataset.MakeBatchedFeaturesDataset(s, pattern, 12, f, options)
	if diff := cmp.Diff(want, plain(t, collect[any](t, d))); diff != "" {
		t.Errorf("elements (-without +with)\n%s", diff)
	}
	if text := lines.String(); !strings.HasPrefix(text, "MakeBatchedFeaturesDataset at debug_test.go:") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "id:[0 1 2 3 10") {
		t.Errorf("lines\n%s", text)
	}
	stop := errors.New("enough")
	s = dataset.WithDebugMode(newScope(t), &dataset.DebugOptions{Element: func(e *dataset.DebugElement) error {
		if e.Number == 2 {
			return stop
		}
		return nil
	}})
	if got, err := dataset.ToSlice[int64](t.Context(), dataset.Range(s, 0, 9, 1), nil); len(got) != 2 || err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("%v, %v", got, err)
	}
}
