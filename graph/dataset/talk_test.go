package dataset_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// These tests show single facts about datasets and iterators in a graph, as
// docs/audit/features.md lists them.

// Functions of a dataset may branch and loop.
func TestControlFlowInMap(t *testing.T) {
	s := newScope(t)
	collatz := func(s *graph.Scope, args outs) outs {
		two := s.Const(int64(2))
		steps := graph.While(s, outs{graph.Add(s, args[0], s.Const(int64(1))), s.Const(int64(0))},
			func(s *graph.Scope, v outs) out { return graph.Greater(s, v[0], s.Const(int64(1))) },
			func(s *graph.Scope, v outs) outs {
				next := graph.Cond(s, graph.Equal(s, graph.FloorMod(s, v[0], two), s.Const(int64(0))),
					func(s *graph.Scope) outs { return outs{graph.FloorDiv(s, v[0], two)} },
					func(s *graph.Scope) outs {
						return outs{graph.Add(s, graph.Mul(s, v[0], s.Const(int64(3))), s.Const(int64(1)))}
					})
				return outs{next[0], graph.Add(s, v[1], s.Const(int64(1)))}
			}, nil)
		return outs{steps[1]}
	}
	got := all(t, dataset.Range(s, 0, 7, 1).Map("collatz", collatz, nil))
	if diff := cmp.Diff(values(0, 1, 7, 2, 5, 8, 16), got); diff != "" {
		t.Errorf("steps from 1, 2, 3 ... to 1 (-want +got)\n%s", diff)
	}
}

// What a function captures is an input of the dataset, so another value does not need
// another graph.
func TestCapturedPlaceholder(t *testing.T) {
	s := newScope(t)
	factor := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	it := dataset.Range(s, 0, 3, 1).Map("times", func(s *graph.Scope, args outs) outs {
		return outs{graph.Mul(s, args[0], factor)}
	}, nil).Iterator("it")
	r := &running{t, it, session(t, s)}
	for _, n := range []int64{10, 100} {
		fed, err := tfbridge.NewTensor(n)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.sess.Run(map[tfbridge.Output]*tfbridge.Tensor{factor: fed}, nil, []*tfbridge.Operation{it.Init})
		fed.Close()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(0, n, 2*n), r.next(5)); diff != "" {
			t.Errorf("elements with %d (-want +got)\n%s", n, diff)
		}
	}
}

// A function reads the value that a variable has when the element is made.
func TestVariableInMap(t *testing.T) {
	s := newScope(t)
	attrs := map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": "v"}
	v := s.Op1("VarHandleOp", attrs)
	set := func(n int64) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{v, s.Const(n)}})
	}
	one, two := set(1), set(2)
	it := dataset.Range(s, 0, 2, 1).Map("read", func(s *graph.Scope, args outs) outs {
		return outs{s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, v)}
	}, nil).WithOptions(&dataset.Options{Rewrites: dataset.Rewrites{InjectPrefetch: dataset.Off}}).Iterator("it")
	r := &running{t, it, session(t, s)}
	var got []any
	for _, op := range []*tfbridge.Operation{one, it.Init, nil, two, nil} {
		if op == nil {
			got = append(got, r.next(1)...)
		} else if _, err := r.sess.Run(nil, nil, []*tfbridge.Operation{op}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(values(1, 2), got); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	if _, err := it.SaveState(t.Context(), r.sess); !errors.Is(err, tfbridge.FailedPrecondition) {
		t.Errorf("a state outside of the iterator is saved: %v", err)
	}
}

func TestNextBeforeInit(t *testing.T) {
	s := newScope(t)
	it := dataset.Range(s, 0, 3, 1).Iterator("it")
	if _, err := session(t, s).Run(nil, it.Element, nil); !errors.Is(err, tfbridge.FailedPrecondition) {
		t.Errorf("error %v, want FailedPrecondition", err)
	}
}

// An iterator accepts another dataset of the same types and shapes, and only such.
func TestIteratorOfAnotherDataset(t *testing.T) {
	s := newScope(t)
	it := dataset.Range(s, 0, 3, 1).Iterator("it")
	initWith := func(d *dataset.Dataset) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "MakeIterator", Input: []tfbridge.Input{d.Variant(), it.Resource}})
	}
	same := initWith(dataset.Range(s, 7, 9, 1))
	others := []*tfbridge.Operation{initWith(dataset.FromSlices(s, s.Const([]string{"x"}))), initWith(dataset.Range(s, 0, 4, 1).Batch(2, true))}
	r := &running{t, it, session(t, s)}
	r.init()
	if diff := cmp.Diff(values(0), r.next(1)); diff != "" {
		t.Errorf("first dataset (-want +got)\n%s", diff)
	}
	if _, err := r.sess.Run(nil, nil, []*tfbridge.Operation{same}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(values(7, 8), r.next(5)); diff != "" {
		t.Errorf("second dataset (-want +got)\n%s", diff)
	}
	for _, other := range others {
		if _, err := r.sess.Run(nil, nil, []*tfbridge.Operation{other}); !errors.Is(err, tfbridge.InvalidArgument) {
			t.Errorf("error %v, want InvalidArgument", err)
		}
	}
}

// A record of bytes, as CIFAR has them, becomes a label and an image: decoded,
// cut, reshaped, and its channels moved to the end.
func TestImageOfBytes(t *testing.T) {
	s := newScope(t)
	path := write(t, "cifar.bin", "\x07"+"RRRR"+"GGGG"+"BBBB"+"\x09"+"abcd"+"efgh"+"ijkl")
	d := dataset.FixedLengthRecords(s, s.Const(path), 13, nil).Map("image", func(s *graph.Scope, args outs) outs {
		bytes := graph.DecodeRaw(s, args[0], tfbridge.Uint8, nil)
		planes := graph.Reshape(s, graph.Subscript(s, bytes, graph.From(1)), s.Const([]int64{3, 2, 2}))
		image := s.Op1("Transpose", nil, planes, s.Const([]int64{1, 2, 0}))
		return outs{graph.Subscript(s, bytes, graph.At(0)), image}
	}, nil)
	checkSpecs(t, d, "uint8[]", "uint8[2, 2, 3]")
	want := []any{
		[]any{uint8(7), [][][]uint8{{{'R', 'G', 'B'}, {'R', 'G', 'B'}}, {{'R', 'G', 'B'}, {'R', 'G', 'B'}}}},
		[]any{uint8(9), [][][]uint8{{{'a', 'e', 'i'}, {'b', 'f', 'j'}}, {{'c', 'g', 'k'}, {'d', 'h', 'l'}}}},
	}
	if diff := cmp.Diff(want, all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

// session returns a session over a scope's graph, closed with the test.
func session(t *testing.T, s *graph.Scope) *tfbridge.Session {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return sess
}
