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

// # Tensors over Go memory
//
// TensorFlow reads a pinned slice in place. Three things could go wrong: the collector
// frees the slice, the caller writes to it while a run reads it, and TensorFlow frees
// it with the wrong allocator. The references are as follows:
//
//	NewPinnedTensor      runtime.Pinner pins the slice
//	                     cgo.Handle keeps the pin reachable from C
//	                     TF_NewTensor(data, deallocator: millrace_unpin, handle)
//	runs, queues, ...    share TensorFlow's buffer, which counts references
//	Tensor.Close         gives back Go's reference only
//	last reference gone  TensorFlow calls millrace_unpin(handle), in any thread:
//	                     unpin, delete the handle, then call Released
//
// So the slice stays pinned after Close as long as TensorFlow uses it, and the
// caller may write to it again only after Released. Released runs in a separate
// goroutine, because TensorFlow may hold locks when it frees a buffer.

// alignment is the alignment of a tensor's elements that TensorFlow requires.
// TensorFlow copies elements at other addresses.
const alignment = 64

// PinOptions are the options of NewPinnedTensor. Nil and the zero value are the
// defaults.
type PinOptions struct {
	// Released is called once, in a separate goroutine, when TensorFlow no longer reads
	// the memory: the tensor is closed, and so is everything in TensorFlow that shares
	// it, such as a run in flight or an element of a queue. The caller may then write
	// to the memory again.
	Released func()
}

// NewPinnedTensor returns a tensor over the memory of data, in row-major order, without
// a copy. The memory stays pinned until TensorFlow no longer uses it, which may be
// after Close. Writing to data before that changes the tensor while runs may read it;
// PinOptions.Released is called when it is safe. TensorFlow never writes to it.
//
// Memory whose address is not a multiple of 64 is copied, as TensorFlow would.
// AlignedSlice returns aligned memory; a slice of 32 KiB or more from make is aligned
// too. Element types are the same as for NewTensorFromSlice except strings, which
// TensorFlow stores in another form.
//
// It wraps TF_NewTensor.
func NewPinnedTensor[T any](shape []int64, data []T, o *PinOptions) (*Tensor, error) {
	typ := reflect.TypeFor[T]()
	dt, ok := dataTypeOf(typ)
	if !ok || dt == String {
		return nil, errNotShared(typ)
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
	if c == nil { // out of memory: C has released the pin
		return nil, errNoMemory(dt, shape)
	}
	t := adoptTensor(c)
	t.h.account(-int64(size)) // Go memory does not count as C memory
	return t, nil
}

// pin is pinned Go memory that TensorFlow uses.
type pin struct {
	memory   runtime.Pinner
	released func()
}

// millrace_unpin releases pinned memory that TensorFlow no longer uses.
// TensorFlow calls it in any thread, and may hold any of its locks.
//
//export millrace_unpin
func millrace_unpin(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	p := h.Value().(*pin)
	h.Delete()
	p.memory.Unpin()
	live[kindPin].Add(-1)
	if p.released != nil {
		go p.released() // it may call TensorFlow, and this thread may hold a lock of TensorFlow
	}
}

// AlignedSlice returns a slice of n zeros that NewPinnedTensor does not have to copy.
// Its capacity is n.
func AlignedSlice[T any](n int) ([]T, error) {
	typ := reflect.TypeFor[T]()
	dt, ok := dataTypeOf(typ)
	if !ok || dt == String {
		return nil, errNotShared(typ)
	}
	if n < 0 || n > (1<<46)/dt.Size() {
		return nil, millrace.Errorf(millrace.ErrLimit, "cannot make a slice of %d elements", n)
	}
	raw := make([]byte, n*dt.Size()+alignment)
	first := unsafe.Pointer(unsafe.SliceData(raw))
	skip := -uintptr(first) % alignment
	return unsafe.Slice((*T)(unsafe.Add(first, skip)), n), nil
}

// errNotShared is the error about a Go type whose memory TensorFlow cannot use in
// place.
func errNotShared(t reflect.Type) error {
	return millrace.Errorf(millrace.ErrSchema, "memory of type %v cannot be shared with TensorFlow", t)
}
