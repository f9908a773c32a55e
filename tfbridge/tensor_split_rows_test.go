package tfbridge

import (
	"errors"
	"reflect"
	"testing"
	"unsafe"

	"millrace"
)

// The parts of a tensor share its memory and outlive it, in any order. A run accepts
// them like any tensor.
func TestSplitRows(t *testing.T) {
	const columns = 16 // floats, so that every row begins at a multiple of 64 bytes
	b := newBuild(t)
	p := b.placeholder("p", Float, Shape{})
	y := b.out("Neg", "y", nil, p)
	s := b.session()
	values := make([]float32, 5*columns)
	for i := range values {
		values[i] = float32(i)
	}
	x, err := NewTensorFromSlice([]int64{5, columns}, values)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := x.SplitRows(2)
	if err != nil {
		t.Fatal(err)
	}
	first, err := View[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := View[float32](parts[1]); err != nil || unsafe.SliceData(got) != &first[2*columns] {
		t.Errorf("the second part was copied: %v", err)
	}
	before := LiveBytes()
	x.Close()
	if LiveBytes() >= before {
		t.Errorf("%d bytes before the whole was closed, %d after it", before, LiveBytes())
	}
	if len(parts) != 3 || !reflect.DeepEqual(parts[2].Shape(), []int64{1, columns}) {
		t.Fatalf("%d parts, the last of shape %v", len(parts), parts[2].Shape())
	}
	for _, i := range []int{1, 0, 2} {
		got := run1(t, s, map[Output]*Tensor{p: parts[i]}, y).([][]float32)
		for r, row := range got {
			for c, v := range row {
				if v != -float32((2*i+r)*columns+c) {
					t.Fatalf("part %d, row %d, column %d: %v", i, r, c, v)
				}
			}
		}
		parts[i].Close()
	}
}

// Rows whose address is not aligned as TensorFlow requires are copied; the parts still
// have the values of the rows.
func TestSplitRowsThatAreNotAligned(t *testing.T) {
	x := newTestTensor(t, [][]int32{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})
	parts, err := x.SplitRows(1)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		want := [][]int32{{int32(3*i + 1), int32(3*i + 2), int32(3*i + 3)}}
		if got := part.Value(); !reflect.DeepEqual(got, want) {
			t.Errorf("part %d is %v, want %v", i, got, want)
		}
		part.Close()
	}
}

func TestTensorsThatHaveNoRows(t *testing.T) {
	closed := newTestTensor(t, []int32{1})
	closed.Close()
	tests := []struct {
		name string
		x    *Tensor
		rows int64
		want error
	}{
		{"scalar", newTestTensor(t, int32(1)), 1, millrace.ErrSchema},
		{"strings", newTestTensor(t, []string{"a", "b"}), 1, millrace.ErrSchema},
		{"nothing", newTestTensor(t, []int32{}), 1, millrace.ErrSchema},
		{"no rows", newTestTensor(t, []int32{1}), 0, millrace.ErrSchema},
		{"closed", closed, 1, millrace.ErrClosed},
		{"nil", nil, 1, millrace.ErrClosed},
	}
	for _, tt := range tests {
		if parts, err := tt.x.SplitRows(tt.rows); parts != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %v", tt.name, parts, err)
		}
	}
}
