package tfbridge

import (
	"errors"
	"reflect"
	"testing"

	"millrace"
)

func TestTensorReshapes(t *testing.T) {
	b := newBuild(t)
	x := newTestTensor(t, []int32{1, 2, 3, 4, 5, 6})
	view, err := View[int32](x)
	if err != nil {
		t.Fatal(err)
	}
	p := b.placeholder("p", Int32, Shape{})
	y := b.out("Neg", "y", nil, p)
	s := b.session()
	tests := []struct {
		shape []int64
		want  any
	}{
		{[]int64{2, 3}, [][]int32{{-1, -2, -3}, {-4, -5, -6}}},
		{[]int64{3, 2}, [][]int32{{-1, -2}, {-3, -4}, {-5, -6}}},
		{[]int64{1, 1, 1, 1, 1, 6}, [][][][][][]int32{{{{{{-1, -2, -3, -4, -5, -6}}}}}}},
		{[]int64{6}, []int32{-1, -2, -3, -4, -5, -6}},
	}
	for _, tt := range tests {
		if err := x.Reshape(tt.shape); err != nil {
			t.Fatal(err)
		}
		if got := x.Shape(); !reflect.DeepEqual(got, tt.shape) {
			t.Errorf("shape: got %v, want %v", got, tt.shape)
		}
		if got := run1(t, s, map[Output]*Tensor{p: x}, y); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("run with shape %v: got %v, want %v", tt.shape, got, tt.want)
		}
	}
	if again, err := View[int32](x); err != nil || &again[0] != &view[0] {
		t.Errorf("the elements have moved: %v", err)
	}
}

func TestReshapeScalarsStringsAndNothing(t *testing.T) {
	for _, tt := range []struct {
		value any
		shape []int64
		want  any
	}{
		{[]float64{7}, nil, 7.0},
		{7.5, []int64{1, 1}, [][]float64{{7.5}}},
		{[]string{"a", "b"}, []int64{2, 1}, [][]string{{"a"}, {"b"}}},
		{[][]bool{{}, {}}, []int64{0}, []bool{}},
		{[]string{}, []int64{3, 0}, [][]string{{}, {}, {}}},
	} {
		x := newBuild(t).tensor(tt.value)
		if err := x.Reshape(tt.shape); err != nil {
			t.Errorf("Reshape(%v): %v", tt.shape, err)
		}
		if got := x.Value(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v in shape %v: got %v, want %v", tt.value, tt.shape, got, tt.want)
		}
	}
}

func TestReshapeRefuses(t *testing.T) {
	x := newBuild(t).tensor([]int32{1, 2, 3, 4})
	for _, shape := range [][]int64{nil, {3}, {-2, -2}, {-1, 4}, {0}, {1 << 62, 1 << 62}, make([]int64, 300)} {
		if err := x.Reshape(shape); !errors.Is(err, millrace.ErrSchema) && !errors.Is(err, millrace.ErrLimit) {
			t.Errorf("Reshape(%v): %v", shape, err)
		}
	}
	if !x.h.hold() { // takes a reference as a run does
		t.Fatal("closed")
	}
	if err := x.Reshape([]int64{2, 2}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("Reshape of a tensor in use: %v", err)
	}
	x.h.release()
	if got := x.Shape(); !reflect.DeepEqual(got, []int64{4}) {
		t.Errorf("shape: got %v, want [4]", got)
	}
	x.Close()
	if err := x.Reshape([]int64{4}); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Reshape of a closed tensor: %v", err)
	}
}
