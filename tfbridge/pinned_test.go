package tfbridge

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"millrace"
	"millrace/internal/test/testruntime"
)

// alignedFloats returns n values in memory that TensorFlow can use.
func alignedFloats(t testing.TB, n int) []float32 {
	t.Helper()
	data, err := AlignedSlice[float32](n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = float32(i)
	}
	return data
}

// A pinned slice and the tensor's elements share their memory, so a later write to one
// changes the other: the documented hazard.
func TestPinnedTensorSharesMemory(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", Float, MakeShape(-1))
	sum := b.out("Sum", "sum", nil, p, b.constant("axis", int32(0)))
	s := b.session()
	data := alignedFloats(t, 1000)
	x, err := NewPinnedTensor([]int64{1000}, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	view, err := View[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.SliceData(view) != unsafe.SliceData(data) || len(view) != len(data) {
		t.Error("the elements were copied")
	}
	if got := run1(t, s, map[Output]*Tensor{p: x}, sum); got != float32(499500) {
		t.Errorf("sum %v", got)
	}
	data[0] = 500
	if got := run1(t, s, map[Output]*Tensor{p: x}, sum); got != float32(500000) {
		t.Errorf("sum after a write %v", got)
	}
	runtime.GC() // pinned memory is neither moved nor freed
	if got := run1(t, s, map[Output]*Tensor{p: x}, sum); got != float32(500000) {
		t.Errorf("sum after a collection %v", got)
	}
}

// TensorFlow keeps the memory as long as any of its objects shares it.
func TestPinnedTensorIsReleasedLast(t *testing.T) {
	b := newBuild(t)
	queue := b.out("FIFOQueueV2", "queue", map[string]any{"component_types": []DataType{Float}})
	p := b.placeholder("p", Float, Shape{})
	put := b.op(OpSpec{Type: "QueueEnqueueV2", Name: "put", Input: []Input{queue, OutputList{p}}})
	get := b.out("QueueDequeueV2", "get", map[string]any{"component_types": []DataType{Float}}, queue)
	s := b.session()
	released := make(chan struct{})
	data := alignedFloats(t, 100)
	x, err := NewPinnedTensor([]int64{100}, data, &PinOptions{Released: func() { close(released) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(map[Output]*Tensor{p: x}, nil, []*Operation{put}); err != nil {
		t.Fatal(err)
	}
	x.Close()
	select {
	case <-released:
		t.Fatal("the queue still has the memory")
	default:
	}
	out, err := s.Run(nil, []Output{get}, nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := View[float32](out[0])
	if err != nil || unsafe.SliceData(view) != unsafe.SliceData(data) {
		t.Errorf("what left the queue is a copy: %v", err)
	}
	out[0].Close()
	<-released
}

// The memory is released exactly once, whichever of many goroutines and runs holds it
// last.
func TestPinnedTensorsConcurrently(t *testing.T) {
	b := newBuild(t)
	p := b.placeholder("p", Float, MakeShape(-1))
	y := b.out("Identity", "y", nil, p) // shares the memory of its input
	s := b.session()
	rounds := 100
	if stress {
		rounds = 3
	}
	var released sync.WaitGroup
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			data := alignedFloats(t, 64)
			for range rounds {
				released.Add(1)
				x, err := NewPinnedTensor([]int64{64}, data, &PinOptions{Released: released.Done})
				if err != nil {
					t.Error(err)
					return
				}
				wg.Go(func() { x.Close() })
				out, err := s.Run(map[Output]*Tensor{p: x}, []Output{y}, nil)
				if errors.Is(err, millrace.ErrClosed) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				out[0].Close()
			}
		})
	}
	wg.Wait()
	released.Wait()
}

func TestPinnedTensorCopies(t *testing.T) {
	testruntime.Need(t)
	data := alignedFloats(t, 17)[1:]
	released := make(chan struct{})
	x, err := NewPinnedTensor([]int64{4, 4}, data, &PinOptions{Released: func() { close(released) }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	<-released
	data[0] = -1
	view, err := View[float32](x)
	if err != nil || view[0] != 1 || view[15] != 16 {
		t.Errorf("unaligned memory: %v, %v", view, err)
	}
	empty, err := NewPinnedTensor([]int64{0}, []int64(nil), nil)
	if err != nil || empty.NumElements() != 0 {
		t.Errorf("no elements: %v", err)
	}
	empty.Close()
}

func TestPinnedTensorRefuses(t *testing.T) {
	testruntime.Need(t)
	for name, make := range map[string]func() error{
		"strings": func() error { _, err := NewPinnedTensor([]int64{1}, []string{"a"}, nil); return err },
		"structs": func() error { _, err := NewPinnedTensor([]int64{1}, []struct{}{{}}, nil); return err },
		"length":  func() error { _, err := NewPinnedTensor([]int64{2}, []int8{1}, nil); return err },
		"shape":   func() error { _, err := NewPinnedTensor([]int64{-1}, []int8{1}, nil); return err },
		"slice":   func() error { _, err := AlignedSlice[string](1); return err },
	} {
		if err := make(); !errors.Is(err, millrace.ErrSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{-1, 1 << 50} {
		if _, err := AlignedSlice[int8](n); !errors.Is(err, millrace.ErrLimit) {
			t.Errorf("AlignedSlice(%d): %v", n, err)
		}
	}
	for n := range 70 {
		data, err := AlignedSlice[complex128](n)
		if err != nil || len(data) != n || cap(data) != n || n > 0 && uintptr(unsafe.Pointer(&data[0]))%alignment != 0 {
			t.Errorf("AlignedSlice(%d): %d of %d, %v", n, len(data), cap(data), err)
		}
	}
}

// A million numbers enter and leave TensorFlow without a copy: the allocations do not
// depend on their number.
func BenchmarkPinned(b *testing.B) {
	g := newBuild(b)
	p := g.placeholder("p", Float, MakeShape(-1))
	y := g.out("Identity", "y", nil, p)
	s := g.session()
	c, err := s.Prepare([]Output{p}, []Output{y}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{16, 1_000_000} {
		data := alignedFloats(b, n)
		b.Run(map[int]string{16: "values=16", 1_000_000: "values=1000000"}[n], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x, err := NewPinnedTensor([]int64{int64(n)}, data, nil)
				if err != nil {
					b.Fatal(err)
				}
				out, err := c.Run(b.Context(), []*Tensor{x})
				if err != nil {
					b.Fatal(err)
				}
				view, err := View[float32](out[0])
				if err != nil || &view[n-1] != &data[n-1] {
					b.Fatal("copied", err)
				}
				out[0].Close()
				x.Close()
			}
		})
	}
}

// Many strings are copied by one call into C.
func TestManyStringsAllocateLittle(t *testing.T) {
	testruntime.Need(t)
	values := make([]string, 1_000_000)
	for i := range values {
		values[i] = "string"[:i%7]
	}
	if n := testing.AllocsPerRun(1, func() {
		x, err := NewStringTensor([]int64{int64(len(values))}, values)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	}); n > 20 {
		t.Errorf("%v allocations for a tensor of a million strings", n)
	}
	x, err := NewStringTensor([]int64{int64(len(values))}, values)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n := testing.AllocsPerRun(1, func() {
		got, err := x.Strings()
		if err != nil || !slices.Equal(got, values) {
			t.Fatal("other strings", err)
		}
	}); n > 20 {
		t.Errorf("%v allocations for a million strings of a tensor", n)
	}
}
