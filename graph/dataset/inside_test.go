package dataset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// sessionOf opens a session of a scope's graph.
func sessionOf(t *testing.T, s *graph.Scope) *tfbridge.Session {
	t.Helper()
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return sess
}

// The fed handle determines which iterator a run takes its element from.
func TestStringHandles(t *testing.T) {
	s := graphtest.NewScope(t)
	train, dev := dataset.Range(s, 0, 3, 1), dataset.Range(s, 100, 103, 1)
	iterators := []*dataset.Iterator{train.Iterator("train"), dev.Iterator("dev")}
	handles := outs{iterators[0].StringHandle(), iterators[1].StringHandle()}
	handle := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	next := dataset.NextOfHandle(s, handle, train.Specs()...)
	text := dataset.NextOfHandle(s, handle, graph.Spec{DType: tfbridge.String, Shape: tfbridge.ScalarShape()})
	sess := sessionOf(t, s)
	names, err := sess.Run(nil, handles, []*tfbridge.Operation{iterators[0].Init, iterators[1].Init})
	if err != nil {
		t.Fatal(err)
	}
	defer names[0].Close()
	defer names[1].Close()
	var got []int64
	for _, which := range []int{0, 1, 1, 0} {
		out, err := sess.Run(map[tfbridge.Output]*tfbridge.Tensor{handle: names[which]}, next, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, out[0].Value().(int64))
		out[0].Close()
	}
	if !slices.Equal(got, []int64{0, 100, 101, 1}) {
		t.Errorf("elements %v, want [0 100 101 1]", got)
	}
	if _, err := sess.Run(map[tfbridge.Output]*tfbridge.Tensor{handle: names[0]}, text, nil); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("as an iterator of strings: %v", err)
	}
}

// An iterator that a program initializes, runs and ends itself returns the same
// elements as a loop.
func TestIteratorGivesWhatLoopGives(t *testing.T) {
	s := graphtest.NewScope(t)
	d := dataset.Range(s, 0, 20, 1).Shuffle(7, &dataset.ShuffleOptions{Seed: 1, Seed2: 2}).Batch(3, false)
	it := d.Iterator("it")
	var want []any
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, element[0].Value())
	}
	r := &running{t, it, sessionOf(t, s)}
	r.init()
	if diff := cmp.Diff(want, r.next(100)); diff != "" || len(want) != 7 {
		t.Errorf("by hand (-loop +iterator)\n%s", diff)
	}
	for range 2 { // the end is sticky
		if _, err := r.sess.Run(nil, it.Element, nil); !errors.Is(err, tfbridge.OutOfRange) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// A dataset operation has inputs, attributes and an output. A function is an attribute:
// its name in the graph's function library.
func TestNodesOfDatasets(t *testing.T) {
	s := graphtest.NewScope(t)
	outer := s.Const(int64(10))
	d := dataset.Range(s, 0, 3, 1).Map("shift", func(s *graph.Scope, args outs) outs { return outs{graph.Add(s, args[0], outer)} }, nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	op := d.Variant().Op
	if op.Type() != "MapDataset" || op.NumInputs() != 2 || op.NumOutputs() != 1 || d.Variant().DataType() != tfbridge.Variant {
		t.Errorf("%s with %d inputs and %d outputs", op.Type(), op.NumInputs(), op.NumOutputs())
	}
	if in := op.Inputs(); in[0].Op.Type() != "RangeDataset" || in[1].Op.Name() != outer.Op.Name() {
		t.Errorf("inputs %v, want the dataset and what the function captures", in)
	}
	f, err := op.Attr("f")
	if err != nil {
		t.Fatal(err)
	}
	name, ok := f.(tfbridge.FuncName)
	functions, err := s.Graph().Functions()
	if err != nil || !ok {
		t.Fatalf("f is %v; %v", f, err)
	}
	var names []string
	for _, fn := range functions {
		names = append(names, fn.Name())
		fn.Close()
	}
	if !slices.Contains(names, string(name)) || !strings.Contains(string(name), "shift") {
		t.Errorf("the library has %q, f is %q", names, name)
	}
}

// Functions of datasets may collect tensors in lists, as Python's TensorArray does, and
// apply other functions to slices.
func TestListsInFunctions(t *testing.T) {
	r := start(t, func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 2, 4, 1).Map("squares", func(s *graph.Scope, args outs) outs {
			scalar := s.Const([]int64{})
			dtype := map[string]any{"element_dtype": tfbridge.Int64, "shape_type": tfbridge.Int64}
			n := graph.Cast(s, args[0], tfbridge.Int32)
			list := s.Op1("TensorListReserve", dtype, scalar, n)
			loop := graph.While(s, outs{s.Const(int32(0)), list}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
				return graph.Less(s, v[0], n)
			}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
				i := graph.Cast(s, v[0], tfbridge.Int64)
				set := s.Op1("TensorListSetItem", map[string]any{"element_dtype": tfbridge.Int64}, v[1], v[0], graph.Mul(s, i, i))
				return outs{graph.Add(s, v[0], s.Const(int32(1))), set}
			}, nil)
			stacked := s.Op1("TensorListStack", map[string]any{"element_dtype": tfbridge.Int64}, loop[1], s.Const([]int32{}))
			doubled := graph.MapDefun(s, "double", outs{stacked}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
				return outs{graph.Add(s, v[0], v[0])}
			})
			return append(outs{stacked}, doubled...)
		}, nil)
	})
	want := []any{[]any{[]int64{0, 1}, []int64{0, 2}}, []any{[]int64{0, 1, 4}, []int64{0, 2, 8}}}
	if diff := cmp.Diff(want, r.next(5)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
