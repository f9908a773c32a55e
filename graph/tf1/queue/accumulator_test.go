package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// An accumulator waits for gradients, returns the mean or the sum of those that are not
// late, and counts its steps.
func TestConditionalAccumulator(t *testing.T) {
	s := graphtest.NewScope(t)
	shape := tfbridge.MakeShape(2)
	mean := queue.NewConditionalAccumulator(s, tfbridge.Float, shape, nil)
	sum := queue.NewConditionalAccumulator(s, tfbridge.Float, shape, &queue.AccumulatorOptions{ReductionType: "SUM"})
	step := s.Placeholder(tfbridge.Int64, tfbridge.Shape{})
	var apply []*tfbridge.Operation
	for _, a := range []*queue.ConditionalAccumulator{mean, sum} {
		for _, gradient := range [][]float32{{1, 2}, {3, 6}} {
			apply = append(apply, a.ApplyGrad(s, s.Const(gradient), step))
		}
	}
	applyAll := graph.NoOp(s, apply...)
	means, sums, count := mean.TakeGrad(s, s.Const(int32(2))), sum.TakeGrad(s, s.Const(int32(1))), mean.NumAccumulated(s)
	jump := mean.SetGlobalStep(s, s.Const(int64(5)))
	session := graphtest.NewSession(t, s, nil)
	if err := feed(t, session, step, int64(0), applyAll); err != nil {
		t.Fatal(err)
	}
	want := []any{[]float32{2, 4}, []float32{4, 8}}
	if diff := cmp.Diff(want, mustFetch(t, session, means, sums)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, late := range []struct{ step, want int64 }{{0, 0}, {1, 2}} {
		if err := feed(t, session, step, late.step, applyAll); err != nil {
			t.Fatal(err)
		}
		if got := mustFetch(t, session, count)[0]; got != int32(late.want) {
			t.Errorf("after gradients of step %d there are %v, want %d", late.step, got, late.want)
		}
	}
	mustFetch(t, session, means)
	mustDo(t, session, jump)
	if err := feed(t, session, step, int64(4), applyAll); err != nil {
		t.Fatal(err)
	}
	if !stays(t, session, means) {
		t.Errorf("TakeGrad did not wait although all gradients were late")
	}
	if err := feed(t, session, step, []int64{}, applyAll); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an empty step: got %v, want code InvalidArgument", err)
	}
}

// The mean of sparse gradients has every slice that any of them has.
func TestSparseConditionalAccumulator(t *testing.T) {
	s := graphtest.NewScope(t)
	a := queue.NewSparseConditionalAccumulator(s, tfbridge.Float, tfbridge.MakeShape(5, 1), nil)
	first := a.ApplyGrad(s, queue.IndexedSlices{Indices: s.Const([]int64{0, 3}), Values: s.Const([][]float32{{2}, {4}})}, s.Const(int64(0)))
	second := a.ApplyGrad(s, queue.IndexedSlices{
		Indices: s.Const([]int64{3}), Values: s.Const([][]float32{{8}}), DenseShape: s.Const([]int64{5, 1}),
	}, s.Const(int64(0)))
	out, count := a.TakeGrad(s, s.Const(int32(2))), a.NumAccumulated(s)
	session := graphtest.NewSession(t, s, nil)
	mustDo(t, session, first)
	mustDo(t, session, second)
	// TensorFlow divides each slice by the number of gradients that have it.
	want := []any{[]int64{0, 3}, [][]float32{{2}, {6}}, []int64{5, 1}}
	if diff := cmp.Diff(want, mustFetch(t, session, out.Indices, out.Values, out.DenseShape)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := mustFetch(t, session, count)[0]; got != int32(0) {
		t.Errorf("%v gradients are left", got)
	}
}

// A barrier returns complete elements in the order of their first components.
func TestBarrier(t *testing.T) {
	s := graphtest.NewScope(t)
	b := queue.NewBarrier(s, []graph.Spec{word, number}, nil)
	words := b.InsertMany(s, 0, s.Const([]string{"k1", "k2"}), s.Const([]string{"a", "b"}))
	one := b.InsertMany(s, 1, s.Const([]string{"k1"}), s.Const([]int64{1}))
	two := b.InsertMany(s, 1, s.Const([]string{"k2"}), s.Const([]int64{2}))
	late := b.InsertMany(s, 0, s.Const([]string{"k3"}), s.Const([]string{"c"}))
	sizes := []tfbridge.Output{b.ReadySize(s), b.IncompleteSize(s)}
	taken, small := b.TakeMany(s, s.Const(int32(1)), nil), b.TakeMany(s, s.Const(int32(5)), &queue.TakeManyOptions{AllowSmallBatch: true})
	end := b.Close(s, false)
	n := s.Placeholder(tfbridge.Int32, tfbridge.Shape{})
	some := b.TakeMany(s, n, nil)
	session := graphtest.NewSession(t, s, nil)
	for _, value := range []any{int32(-1), []int32{}} { // these values would end the process in TensorFlow
		if err := feed(t, session, n, value, nil, some.Keys); !errors.Is(err, tfbridge.InvalidArgument) {
			t.Errorf("%v elements: got %v, want code InvalidArgument", value, err)
		}
	}
	mustDo(t, session, words)
	if err := do(t, session, words); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("a component twice: got %v, want code InvalidArgument", err)
	}
	for _, op := range []*tfbridge.Operation{one, end, two} {
		mustDo(t, session, op)
	}
	if diff := cmp.Diff([]any{int32(2), int32(0)}, mustFetch(t, session, sizes...)); diff != "" {
		t.Errorf("sizes (-want +got)\n%s", diff)
	}
	if err := do(t, session, late); !errors.Is(err, tfbridge.Cancelled) {
		t.Errorf("a new key in a closed barrier: got %v, want code Cancelled", err)
	}
	var keys []string
	for _, part := range []queue.Taken{taken, small} {
		values := mustFetch(t, session, part.Keys, part.Values[0], part.Values[1])
		keys = append(keys, values[0].([]string)...)
		keys = append(keys, values[1].([]string)...)
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"a", "b", "k1", "k2"}, keys); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := fetch(t, session, small.Keys); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("an empty closed barrier: got %v, want code OutOfRange", err)
	}
	if got, want := taken.Values[1].Shape(), tfbridge.MakeShape(1); !got.Equal(want) {
		t.Errorf("a component has shape %v, want %v", got, want)
	}
}

// Arguments that cannot work are refused while building, in an error with the name.
func TestRefusedBarriersAndAccumulators(t *testing.T) {
	barrier := func(f func(s *graph.Scope, b *queue.Barrier)) func(*graph.Scope) {
		return func(s *graph.Scope) { f(s, queue.NewBarrier(s, []graph.Spec{number}, &queue.Options{Name: "mine"})) }
	}
	dense := func(f func(s *graph.Scope, a *queue.ConditionalAccumulator)) func(*graph.Scope) {
		return func(s *graph.Scope) {
			f(s, queue.NewConditionalAccumulator(s, tfbridge.Float, tfbridge.MakeShape(2), &queue.AccumulatorOptions{Options: queue.Options{Name: "mine"}}))
		}
	}
	sparse := func(f func(s *graph.Scope, a *queue.SparseConditionalAccumulator)) func(*graph.Scope) {
		return func(s *graph.Scope) {
			f(s, queue.NewSparseConditionalAccumulator(s, tfbridge.Float, tfbridge.Shape{}, &queue.AccumulatorOptions{Options: queue.Options{Name: "mine"}}))
		}
	}
	tests := []struct {
		name, want string
		build      func(s *graph.Scope)
	}{
		{"component", "there is no component 1", barrier(func(s *graph.Scope, b *queue.Barrier) {
			b.InsertMany(s, 1, s.Const([]string{"k"}), s.Const([]int64{1}))
		})},
		{"keys", "the keys are", barrier(func(s *graph.Scope, b *queue.Barrier) {
			b.InsertMany(s, 0, s.Const("k"), s.Const([]int64{1}))
		})},
		{"data type", "is of type int64, got string", barrier(func(s *graph.Scope, b *queue.Barrier) {
			b.InsertMany(s, 0, s.Const([]string{"k"}), s.Const([]string{"a"}))
		})},
		{"scalar", "takes shape [?], got []", barrier(func(s *graph.Scope, b *queue.Barrier) {
			b.InsertMany(s, 0, s.Const([]string{"k"}), s.Const(int64(1)))
		})},
		{"number of elements", "must be a scalar int32", barrier(func(s *graph.Scope, b *queue.Barrier) { b.TakeMany(s, s.Const("1"), nil) })},
		{"component without shape", "has no shape", func(s *graph.Scope) {
			queue.NewBarrier(s, []graph.Spec{{DType: tfbridge.Float}}, &queue.Options{Name: "mine"})
		}},
		{"empty component", "holds nothing", func(s *graph.Scope) {
			queue.NewBarrier(s, []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.MakeShape(0)}}, &queue.Options{Name: "mine"})
		}},
		{"reduction", `ReductionType is "MAX"`, func(s *graph.Scope) {
			queue.NewConditionalAccumulator(s, tfbridge.Float, tfbridge.Shape{}, &queue.AccumulatorOptions{ReductionType: "MAX", Options: queue.Options{Name: "mine"}})
		}},
		{"gradient", "the gradient is float32[3], must be float32[2]", dense(func(s *graph.Scope, a *queue.ConditionalAccumulator) {
			a.ApplyGrad(s, s.Const([]float32{1, 2, 3}), s.Const(int64(0)))
		})},
		{"step", "the step is int32[], must be int64[]", dense(func(s *graph.Scope, a *queue.ConditionalAccumulator) {
			a.SetGlobalStep(s, s.Const(int32(0)))
		})},
		{"number of gradients", "the number of gradients is int64[]", dense(func(s *graph.Scope, a *queue.ConditionalAccumulator) {
			a.TakeGrad(s, s.Const(int64(1)))
		})},
		{"indices", "the gradient's indices", sparse(func(s *graph.Scope, a *queue.SparseConditionalAccumulator) {
			a.ApplyGrad(s, queue.IndexedSlices{Indices: s.Const(int64(1)), Values: s.Const([]float32{1})}, s.Const(int64(0)))
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			tt.build(s)
			if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `"mine"`) {
				t.Errorf("got %v, want %s and the name", err, tt.want)
			}
		})
	}
}
