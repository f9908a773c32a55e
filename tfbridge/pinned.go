package tfbridge

// #include "capi.h"
import "C"

import (
	"reflect"
	"runtime"
	"runtime/cgo"
	"unsafe"

	"millrace"
)

// alignment is what TensorFlow wants of the address of a tensor's elements;
// it copies what lies elsewhere.
const alignment = 64

// PinOptions say more about a tensor over Go memory. Nil and the zero value
// are the defaults.
type PinOptions struct {
	// Released is called once, in a goroutine of its own, when TensorFlow
	// reads the memory no more and it may be written to again: when the tensor
	// is closed and everything in TensorFlow that shares it, a run under way
	// or an element of a queue, is gone too.
	Released func()
}

// NewPinnedTensor returns a tensor over the memory of data, in row-major
// order, which is not copied: it is pinned until TensorFlow has let go of it,
// which may be after Close. Whoever writes to data before that changes the
// tensor under the feet of the runs that read it; PinOptions.Released says
// when it is over. TensorFlow itself never writes to it.
//
// Memory whose address is not a multiple of 64 is copied after all, for
// TensorFlow would. That of AlignedSlice is one, and so is the start of any
// slice of 32 KiB or more that make returned. Elements are those of
// NewTensorFromSlice, but not strings, which TensorFlow keeps differently.
//
// It wraps TF_NewTensor.
func NewPinnedTensor[T any](shape []int64, data []T, o *PinOptions) (*Tensor, error) {
	typ := reflect.TypeFor[T]()
	dt, ok := dataTypeOf(typ)
	if !ok || dt == String {
		return nil, millrace.Errorf(millrace.ErrSchema, "memory of type %v cannot be shared with TensorFlow", typ)
	}
	if o == nil {
		o = &PinOptions{}
	}
	size := len(data) * dt.Size()
	if err := checkRaw(dt, shape, int64(size)); err != nil {
		return nil, err
	}
	if err := ensure(); err != nil {
		return nil, err
	}
	first := unsafe.Pointer(unsafe.SliceData(data))
	if size == 0 || uintptr(first)%alignment != 0 {
		t, err := NewTensorFromBytes(dt, shape, unsafe.Slice((*byte)(first), size))
		if err == nil && o.Released != nil {
			go o.Released()
		}
		return t, err
	}
	p := &pin{released: o.Released}
	p.memory.Pin(first)
	h := cgo.NewHandle(p)
	live[kindPin].Add(1)
	c := C.mr_new_pinned(C.TF_DataType(dt), (*C.int64_t)(unsafe.SliceData(shape)), C.int(len(shape)), first, C.size_t(size), C.uintptr_t(h))
	if c == nil { // nothing that was checked above; the memory was released
		return nil, errNoMemory(dt, shape)
	}
	return adoptTensor(c), nil
}

// pin is Go memory that TensorFlow uses.
type pin struct {
	memory   runtime.Pinner
	released func()
}

// millrace_unpin is called by TensorFlow, on any thread and with any of its
// locks held, when it has let go of pinned memory.
//
//export millrace_unpin
func millrace_unpin(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	p := h.Value().(*pin)
	h.Delete()
	p.memory.Unpin()
	live[kindPin].Add(-1)
	if p.released != nil {
		go p.released() // it may call TensorFlow, which may hold a lock here
	}
}

// AlignedSlice returns a slice of n zeros whose memory TensorFlow can use as
// it is: see NewPinnedTensor. Its capacity is n.
func AlignedSlice[T any](n int) ([]T, error) {
	typ := reflect.TypeFor[T]()
	dt, ok := dataTypeOf(typ)
	if !ok || dt == String {
		return nil, millrace.Errorf(millrace.ErrSchema, "memory of type %v cannot be shared with TensorFlow", typ)
	}
	if n < 0 || n > (1<<46)/dt.Size() {
		return nil, millrace.Errorf(millrace.ErrLimit, "no slice of %d elements", n)
	}
	raw := make([]byte, n*dt.Size()+alignment)
	first := unsafe.Pointer(unsafe.SliceData(raw))
	skip := -uintptr(first) % alignment
	return unsafe.Slice((*T)(unsafe.Add(first, skip)), n), nil
}
