package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// seqOf returns a sequence of values.
func seqOf[T any](values ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// counting returns the numbers from 0 up to but excluding n.
func counting(n int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

type point struct {
	Y     []float32 `tf:"a"`
	X     int32
	Skip  chan int `tf:"-"`
	inner int
	Text  [2]string `tf:"z"`
}

func TestFromSeqTypes(t *testing.T) {
	s := newScope(t)
	tensor, err := tfbridge.NewTensor([]int64{5, 6})
	if err != nil {
		t.Fatal(err)
	}
	defer tensor.Close()
	vector := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
	points := []point{{[]float32{1}, 7, nil, 0, [2]string{"u", "v"}}, {[]float32{2, 3}, 8, nil, 1, [2]string{"", "w"}}}
	wantPoints := []any{
		[]any{int32(7), []float32{1}, []string{"u", "v"}}, []any{int32(8), []float32{2, 3}, []string{"", "w"}},
	}
	tests := []struct {
		name  string
		d     *dataset.Dataset
		specs string
		want  []any
	}{
		{"int64", dataset.FromSeq(s, counting(3), nil), "[int64[]]", values(0, 1, 2)},
		{"int", dataset.FromSeq(s, seqOf(4, 5), nil), "[int64[]]", values(4, 5)},
		{"none", dataset.FromSeq(s, seqOf[int64](), nil), "[int64[]]", values()},
		{"bool", dataset.FromSeq(s, seqOf(true, false), nil), "[bool[]]", []any{true, false}},
		{"string", dataset.FromSeq(s, seqOf("a", "", "\x00b"), nil), "[string[]]", []any{"a", "", "\x00b"}},
		{"bytes", dataset.FromSeq(s, seqOf([]byte("ab")), nil), "[uint8[?]]", []any{[]uint8("ab")}},
		{"array", dataset.FromSeq(s, seqOf([2]float32{1, 2}), nil), "[float32[2]]", []any{[]float32{1, 2}}},
		{"shapes vary", dataset.FromSeq(s, seqOf([]int64{1}, []int64{2}, []int64{3, 4}), nil), "[int64[?]]",
			[]any{[]int64{1}, []int64{2}, []int64{3, 4}}},
		{"nested", dataset.FromSeq(s, seqOf([][2]int8{{1, 2}, {3, 4}}), nil), "[int8[?, 2]]", []any{[][]int8{{1, 2}, {3, 4}}}},
		{"strings", dataset.FromSeq(s, seqOf([]string{"a", "bc"}, []string{"d"}), nil), "[string[?]]", []any{[]string{"a", "bc"}, []string{"d"}}},
		{"known shape", dataset.FromSeq(s, seqOf([]int64{1, 2}), &dataset.SeqOptions{
			Spec: graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(2)}}), "[int64[2]]", []any{[]int64{1, 2}}},
		{"empty", dataset.FromSeq(s, seqOf([]int64{}, []int64{1}), &dataset.SeqOptions{Empty: true}), "[int64[?]]",
			[]any{[]int64{}, []int64{1}}},
		{"always empty", dataset.FromSeq(s, seqOf([0]int64{}, [0]int64{}), nil), "[int64[0]]", []any{[]int64{}, []int64{}}},
		{"tensor", dataset.FromSeq(s, seqOf(tensor, tensor), &dataset.SeqOptions{Spec: vector}), "[int64[?]]",
			[]any{[]int64{5, 6}, []int64{5, 6}}},
		{"struct", dataset.FromSeq(s, seqOf(points...), nil), "[int32[] float32[?] string[2]]", wantPoints},
		{"pointer", dataset.FromSeq(s, seqOf(&points[0]), nil), "[int32[] float32[?] string[2]]", wantPoints[:1]},
		{"map", dataset.FromSeq(s, seqOf(map[string]any{"b": []int64{1}, "a": "x"}), &dataset.SeqOptions{
			Fields: map[string]graph.Spec{"a": {DType: tfbridge.String, Shape: tfbridge.ScalarShape()}, "b": vector}}),
			"[string[] int64[?]]", []any{[]any{"x", []int64{1}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := all(t, test.d)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if specs := fmt.Sprint(test.d.Specs()); specs != test.specs {
				t.Errorf("specs %s, want %s", specs, test.specs)
			}
		})
	}
}

func TestFromSeqRefuses(t *testing.T) {
	tests := []struct {
		name string
		make func(s *graph.Scope) *dataset.Dataset
	}{
		{"type", func(s *graph.Scope) *dataset.Dataset { return dataset.FromSeq(s, seqOf(make(chan int)), nil) }},
		{"fields", func(s *graph.Scope) *dataset.Dataset { return dataset.FromSeq(s, seqOf(struct{ x int }{1}), nil) }},
		{"names", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSeq(s, seqOf(struct {
				A int
				B int `tf:"A"`
			}{}), nil)
		}},
		{"map", func(s *graph.Scope) *dataset.Dataset { return dataset.FromSeq(s, seqOf(map[string]int{}), nil) }},
		{"tensor", func(s *graph.Scope) *dataset.Dataset { return dataset.FromSeq(s, seqOf[*tfbridge.Tensor](nil), nil) }},
		{"spec", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSeq(s, counting(1), &dataset.SeqOptions{Spec: graph.Spec{DType: tfbridge.Float}})
		}},
		{"rank", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSeq(s, counting(1), &dataset.SeqOptions{Spec: graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(1)}})
		}},
		{"unknown field", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSeq(s, seqOf(point{}), &dataset.SeqOptions{Fields: map[string]graph.Spec{"q": {DType: tfbridge.Float}}})
		}},
		{"nil", func(s *graph.Scope) *dataset.Dataset { return dataset.FromFunc[int64](s, nil, nil) }},
		{"negative", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSeq(s, counting(1), &dataset.SeqOptions{Buffer: -1})
		}},
		{"channel", func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromChan(s, make(chan int64), &dataset.SeqOptions{Replayable: true})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScope(t)
			test.make(s)
			isClass(t, s.Err(), millrace.ErrModel)
		})
	}
}

// Every iterator ranges over its sequence again, and sources are independent of each
// other.
func TestFromSeqAnew(t *testing.T) {
	s := newScope(t)
	a := dataset.FromSeq(s, counting(3), nil)
	b := dataset.FromSeq(s, seqOf[int64](10, 11), nil)
	for range 2 {
		if diff := cmp.Diff(values(0, 1, 2, 0, 1, 2), all(t, a.Repeat(2))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(values(10, 11), all(t, b)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// sources appear within a function, where each element starts them again, and under all
// kinds of other datasets.
func TestFromSeqUnder(t *testing.T) {
	s := newScope(t)
	double := func(s *graph.Scope, args outs) outs { return outs{graph.Add(s, args[0], args[0])} }
	inner := func(s *graph.Scope, _ outs) *dataset.Dataset { return dataset.FromSeq(s, counting(2), nil) }
	seq := func() *dataset.Dataset { return dataset.FromSeq(s, counting(4), nil) }
	tests := []struct {
		name string
		d    *dataset.Dataset
		want []any
	}{
		{"prefetch", seq().Prefetch(2), values(0, 1, 2, 3)},
		{"map", seq().Map("double", double, &dataset.MapOptions{Parallel: 3}), values(0, 2, 4, 6)},
		{"batch", seq().Batch(3, false), []any{[]int64{0, 1, 2}, []int64{3}}},
		{"flat map", seq().FlatMap("inner", inner), values(0, 1, 0, 1, 0, 1, 0, 1)},
		{"interleave", seq().Interleave("inner", inner, &dataset.InterleaveOptions{CycleLength: 4}), values(0, 0, 0, 0, 1, 1, 1, 1)},
		{"parallel", seq().Interleave("inner", inner, &dataset.InterleaveOptions{CycleLength: 4, Parallel: 4}), values(0, 0, 0, 0, 1, 1, 1, 1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, all(t, test.d)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if got := all(t, seq().Shuffle(4, nil)); len(got) != 4 {
		t.Errorf("shuffled: got %v", got)
	}
}

func TestFromSeqBatch(t *testing.T) {
	s := newScope(t)
	whole := dataset.FromSeq(s, counting(5), &dataset.SeqOptions{Batch: 2})
	if diff := cmp.Diff([]any{[]int64{0, 1}, []int64{2, 3}, []int64{4}}, all(t, whole)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	drop := dataset.FromSeq(s, counting(5), &dataset.SeqOptions{Batch: 2, Drop: true})
	if diff := cmp.Diff([]any{[]int64{0, 1}, []int64{2, 3}}, all(t, drop)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := fmt.Sprint(drop.Specs()), "[int64[2]]"; got != want {
		t.Errorf("specs %s, want %s", got, want)
	}
	other := dataset.FromSeq(s, seqOf([]int64{1}, []int64{2, 3}), &dataset.SeqOptions{Batch: 2})
	_, err := tryAll(t, other)
	isClass(t, err, millrace.ErrSchema)
}

func TestFromChan(t *testing.T) {
	ch := make(chan string)
	go func() {
		defer close(ch)
		for _, v := range []string{"a", "b", "c"} {
			ch <- v
		}
	}()
	if diff := cmp.Diff([]any{"a", "b", "c"}, all(t, dataset.FromChan(newScope(t), ch, nil))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A saved iterator continues at its position, also in another process and next to the
// original. Its sequence skips elements or begins at the given one.
func TestFromSeqState(t *testing.T) {
	o := &dataset.SeqOptions{Replayable: true, Buffer: 4}
	from := func(_ context.Context, from int64) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			for i := from; i < 8 && yield(i, nil); i++ {
			}
		}
	}
	tests := []struct {
		name string
		make func(s *graph.Scope) *dataset.Dataset
	}{
		{"skipped", func(s *graph.Scope) *dataset.Dataset { return dataset.FromSeq(s, counting(8), o) }},
		{"begun", func(s *graph.Scope) *dataset.Dataset { return dataset.FromFunc(s, from, o) }},
		{"batches", func(s *graph.Scope) *dataset.Dataset { return dataset.FromFunc(s, from, o).Batch(3, false).Prefetch(2) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := all(t, test.make(newScope(t)))
			it, sess := openSeq(t, test.make(newScope(t)))
			for i := range len(want) {
				state, err := it.SaveState(t.Context(), sess)
				if err != nil {
					t.Fatal(err)
				}
				again, other := openSeq(t, test.make(newScope(t)))
				if err := again.RestoreState(t.Context(), other, state); err != nil {
					t.Fatal(err)
				}
				rest := []any{}
				for range len(want) - i {
					rest = append(rest, fetchSeq(t, again, other))
				}
				if diff := cmp.Diff(want[i:], rest); diff != "" {
					t.Errorf("after %d (-want +got)\n%s", i, diff)
				}
				fetchSeq(t, it, sess)
				if err := it.RestoreState(t.Context(), sess, state); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[i], fetchSeq(t, it, sess)); diff != "" {
					t.Errorf("back to %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

func TestFromSeqStateNotReplayable(t *testing.T) {
	it, sess := openSeq(t, dataset.FromSeq(newScope(t), counting(5), nil))
	_, err := it.SaveState(t.Context(), sess)
	isClass(t, err, millrace.ErrModel)
	if !strings.Contains(fmt.Sprint(err), "Replayable") {
		t.Errorf("got %v", err)
	}
}

// openSeq returns an iterator over d that has begun to read.
func openSeq(t *testing.T, d *dataset.Dataset) (*dataset.Iterator, *tfbridge.Session) {
	t.Helper()
	it := d.Iterator("it")
	if err := d.Scope().Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	return it, sess
}

// fetchSeq returns the next element.
func fetchSeq(t *testing.T, it *dataset.Iterator, sess *tfbridge.Session) any {
	t.Helper()
	element, err := sess.Run(nil, it.Element, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer element[0].Close()
	return element[0].Value()
}

// isClass fails the test unless err is of a class.
func isClass(t *testing.T, err error, class millrace.Class) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("got %v, want class %v", err, class)
	}
}

// Structs that go in come out as structs.
func TestFromSeqStructure(t *testing.T) {
	type element struct {
		Text string `tf:"a"`
		N    []int64
	}
	want := []element{{"x", []int64{1}}, {"y", []int64{2, 3}}}
	d := dataset.FromSeq(newScope(t), seqOf(want...), nil)
	if got := fmt.Sprint(d.Spec()); got != "{N: int64[?], a: string[]}" {
		t.Errorf("structure %s", got)
	}
	if diff := cmp.Diff(want, collect[element](t, d)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
