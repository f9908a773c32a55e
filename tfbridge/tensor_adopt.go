package tfbridge

// #cgo noescape mr_describe
// #cgo nocallback mr_describe
// #include "capi.h"
import "C"

import "runtime"

// adoptTensor returns a Tensor that owns p. It is one allocation: the handle is a field
// of the Tensor, and a finalizer frees a tensor that was never closed, because a
// cleanup would cost three more allocations. With a finalizer a Tensor must not point
// to itself, or the collector would never free it.
func adoptTensor(p *C.TF_Tensor) *Tensor {
	var info C.mr_info
	C.mr_describe(p, &info)
	t := &Tensor{
		dtype: DataType(info.dtype),
		rank:  int(info.rank),
		n:     int64(info.elements),
		bytes: uintptr(info.bytes),
		data:  (*element)(info.data),
	}
	if t.rank > len(t.few) {
		t.many = make([]int64, t.rank)
	}
	for i, dims := 0, t.dims(); i < len(dims); i++ {
		if i < len(info.dims) {
			dims[i] = int64(info.dims[i])
		} else {
			dims[i] = int64(C.TF_Dim(p, C.int(i)))
		}
	}
	t.h.start(kindTensor, p, freeTensor{})
	t.h.account(int64(info.bytes + info.long_strings))
	runtime.SetFinalizer(t, reapTensor)
	return t
}

// freeTensor frees C tensors.
type freeTensor struct{}

func (freeTensor) free(p *C.TF_Tensor) { C.TF_DeleteTensor(p) }

// reapTensor frees a tensor that is unreachable and was not closed.
func reapTensor(t *Tensor) {
	if t.h.markClosed() {
		leaked.Add(1)
		native.reaped(t.h.bytes)
		t.h.release()
	}
}
