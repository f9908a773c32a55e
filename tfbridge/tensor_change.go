package tfbridge

// #include "capi.h"
import "C"

import (
	"runtime"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// Reshape gives the tensor another shape with the same number of elements. Nothing is
// copied: slices from Bytes and View stay valid. Nothing else may use the tensor
// meanwhile; it is an error if a run still holds it.
//
// It wraps TF_TensorBitcastFrom.
func (t *Tensor) Reshape(shape []int64) error {
	if !t.IsOpen() {
		return errUnusable("tensor", t)
	}
	defer runtime.KeepAlive(t)
	n, err := dtype.Elements(shape)
	if err != nil {
		return err
	}
	if n != t.n {
		return millrace.Errorf(millrace.ErrSchema, "reshape: shape %v has %d elements, shape %v has %d", t.dims(), t.n, shape, n)
	}
	if t.h.refs.Load() > 1 {
		return millrace.Errorf(millrace.ErrConfig, "reshape: the tensor is in use")
	}
	p := t.h.ptr()
	if t.dtype == String {
		t.h.p = C.mr_reshape_strings(p, (*C.int64_t)(unsafe.SliceData(shape)), C.int(len(shape)))
		t.setDims(shape)
		return nil
	}
	err = check("TF_TensorBitcastFrom", func(st *C.TF_Status) {
		C.TF_TensorBitcastFrom(p, C.TF_DataType(t.dtype), p, (*C.int64_t)(unsafe.SliceData(shape)), C.int(len(shape)), st)
	})
	if err != nil {
		return err
	}
	t.setDims(shape)
	return nil
}

// setDims stores the dimensions.
func (t *Tensor) setDims(shape []int64) {
	t.rank, t.few, t.many = len(shape), [len(t.few)]int64{}, nil
	if t.rank > len(t.few) {
		t.many = make([]int64, t.rank)
	}
	copy(t.dims(), shape)
}

// AllocateTensor returns a tensor of any data type whose contents Go can read: numbers,
// bools and strings. Strings are empty. Other elements are not initialized: fill them
// by CopyElements, or through [Tensor.Bytes] or [View], before anything else uses the
// tensor.
//
// It wraps TF_NewTensor.
func AllocateTensor(dt DataType, shape []int64) (*Tensor, error) {
	return newTensor(dt, shape)
}

// CopyElements copies n elements of from, beginning with element start, over the
// elements of t that begin with element at, both in row-major order. The tensors must
// have the same data type, and may be the same tensor if the elements do not overlap.
// Nothing else may use the elements of t meanwhile. Other goroutines may read from, and
// close either.
//
// It wraps TF_StringCopy for strings.
func (t *Tensor) CopyElements(at int64, from *Tensor, start, n int64) error {
	if t == nil || !t.h.hold() {
		return errUnusable("tensor", t)
	}
	defer t.h.release()
	if from == nil || !from.h.hold() {
		return errUnusable("tensor", from)
	}
	defer from.h.release()
	switch {
	case t.dtype != from.dtype:
		return millrace.Errorf(millrace.ErrSchema, "elements of type %v cannot be copied to a tensor of type %v", from.dtype, t.dtype)
	case n < 0 || start < 0 || start > from.n-n:
		return millrace.Errorf(millrace.ErrSchema, "no elements %d to %d in a tensor of %d", start, start+n, from.n)
	case at < 0 || at > t.n-n:
		return millrace.Errorf(millrace.ErrSchema, "no elements %d to %d in a tensor of %d", at, at+n, t.n)
	case t == from && at < start+n && start < at+n:
		return millrace.Errorf(millrace.ErrSchema, "elements %d to %d overlap with elements %d to %d", start, start+n, at, at+n)
	}
	if t.dtype == String {
		t.h.account(int64(C.mr_copy_strings(t.h.p, C.int64_t(at), from.h.p, C.int64_t(start), C.int64_t(n))))
		return nil
	}
	size := int64(t.dtype.Size())
	if size == 0 {
		return errNoBytes(t.dtype)
	}
	copy(t.contents()[at*size:], from.contents()[start*size:(start+n)*size])
	return nil
}

// SplitRows splits the tensor along its first dimension into tensors of the given
// number of rows; the last may have fewer. They share the tensor's memory, which stays
// until the last of them is closed, whether t is closed before or after. A part that
// would not begin at a multiple of 64 bytes is a copy, because TensorFlow only computes
// with aligned tensors. The caller closes the parts. Strings, scalars and tensors
// without elements cannot be split.
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
