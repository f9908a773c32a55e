package tfbridge

// #include "capi.h"
import "C"

import (
	"runtime"
	"unsafe"

	"millrace"
)

// SplitRows cuts the tensor along its first dimension into tensors of so many
// rows, the last one perhaps of fewer. They share the tensor's memory, which stays
// until the last of them is closed, whether t is closed before or after. A part
// that would not begin at a multiple of 64 bytes is a copy, because TensorFlow
// computes with aligned tensors only. The caller closes the parts. Strings cannot
// be cut, nor can a scalar or a tensor without elements.
//
// It wraps TF_NewTensor.
func (t *Tensor) SplitRows(rows int64) ([]*Tensor, error) {
	if t == nil || !t.h.hold() {
		return nil, errUnusable("tensor", t)
	}
	defer runtime.KeepAlive(t)
	defer t.h.release()
	dims := t.dims()
	if t.dtype.Size() == 0 || len(dims) == 0 || t.n == 0 {
		return nil, millrace.Errorf(millrace.ErrSchema, "split a tensor of type %v and shape %v: it has no rows of numbers", t.dtype, dims)
	}
	if rows < 1 {
		return nil, millrace.Errorf(millrace.ErrSchema, "split into %d rows: must be at least 1", rows)
	}
	parts := make([]*C.TF_Tensor, (dims[0]-1)/rows+1)
	if C.mr_split_rows(t.h.p, (*C.int64_t)(unsafe.SliceData(dims)), C.int(len(dims)), C.int64_t(rows),
		(**C.TF_Tensor)(unsafe.SliceData(parts)), C.int64_t(len(parts))) == 0 {
		return nil, errNoMemory(t.dtype, dims)
	}
	out := make([]*Tensor, len(parts))
	for i, p := range parts {
		out[i] = adoptTensor(p)
	}
	return out, nil
}
