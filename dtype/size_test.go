package dtype

import (
	"errors"
	"math"
	"testing"

	"millrace"
)

func TestElements(t *testing.T) {
	tests := []struct {
		dims []int64
		want int64
		err  error
	}{
		{nil, 1, nil},
		{[]int64{2, 3}, 6, nil},
		{[]int64{2, 0, 5}, 0, nil},
		{[]int64{math.MaxInt64}, math.MaxInt64, nil},
		{[]int64{-1}, 0, millrace.ErrSchema},
		{[]int64{math.MinInt64}, 0, millrace.ErrSchema},
		{[]int64{1 << 32, 1 << 31}, 0, millrace.ErrLimit},
		{[]int64{1 << 40, 1 << 40, 0}, 0, millrace.ErrLimit},
		{make([]int64, 255), 0, millrace.ErrLimit},
	}
	for _, tt := range tests {
		got, err := Elements(tt.dims)
		if got != tt.want || (tt.err == nil) != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("Elements(%v)\n got %d, %v\nwant %d, %v", tt.dims, got, err, tt.want, tt.err)
		}
	}
}

func TestByteSize(t *testing.T) {
	tests := []struct {
		d     DataType
		dims  []int64
		bytes int64
		err   error
	}{
		{Float, []int64{2, 3}, 24, nil},
		{Complex128, nil, 16, nil},
		{String, []int64{3}, 72, nil},
		{Variant, []int64{3}, 3, nil},
		{Double, []int64{1 << 40, 0}, 0, nil},
		{Uint8, []int64{math.MaxInt64}, math.MaxInt64, nil},
		{Double, []int64{1 << 60}, 0, millrace.ErrLimit},
		{String, []int64{1 << 60}, 0, millrace.ErrLimit},
		{Float, []int64{-1}, 0, millrace.ErrSchema},
	}
	for _, tt := range tests {
		_, got, err := ByteSize(tt.d, tt.dims)
		if got != tt.bytes || (tt.err == nil) != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("ByteSize(%v, %v)\n got %d, %v\nwant %d, %v", tt.d, tt.dims, got, err, tt.bytes, tt.err)
		}
	}
}
