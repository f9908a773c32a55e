package tfbridge

// #include "capi.h"
import "C"

import (
	"io"
	"reflect"
	"runtime"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// Tensor is an array of elements of one data type, in C memory. Many goroutines
// may read and feed it concurrently. Close frees it.
//
// reflect.DeepEqual finds two open tensors of one data type and shape equal whatever
// their contents are, as with TensorFlow's own binding. Compare their Value.
type Tensor struct {
	h     handle[*C.TF_Tensor]
	dtype DataType
	rank  int
	few   [4]int64 // the dimensions, if there are at most 4
	many  []int64  // the dimensions otherwise
	n     int64    // number of elements
	bytes uintptr  // size of the elements; 24 for each string
	data  *element
}

// element represents the elements of any data type. reflect.DeepEqual finds two
// pointers to it equal, but not two different values of unsafe.Pointer.
type element struct{}

// newTensor allocates a tensor. Strings are empty; other elements are not
// initialized.
func newTensor(dt DataType, shape []int64) (*Tensor, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	if !dt.Known() || goType(dt) == nil {
		return nil, millrace.Errorf(millrace.ErrSchema, "Go cannot make a tensor of type %v", dt)
	}
	n, size, err := dtype.ByteSize(dt, shape)
	if err != nil {
		return nil, err
	}
	dims := (*C.int64_t)(unsafe.SliceData(shape))
	var p *C.TF_Tensor
	if dt == String {
		p = C.mr_new_strings(dims, C.int(len(shape)), C.int64_t(n))
	} else {
		p = C.mr_new_tensor(C.TF_DataType(dt), dims, C.int(len(shape)), C.size_t(size))
	}
	if p == nil {
		return nil, errNoMemory(dt, shape)
	}
	return adoptTensor(p), nil
}

// errNoWriter returns the error about a nil writer.
func errNoWriter() error { return millrace.Errorf(millrace.ErrConfig, "the writer is nil") }

// errNoMemory returns the error about a tensor that could not be allocated.
func errNoMemory(dt DataType, shape []int64) error {
	return millrace.Errorf(millrace.ErrLimit, "no memory for a tensor of type %v and shape %v", dt, shape)
}

// NewTensorFromSlice returns a tensor with a copy of data, in row-major order.
//
// It wraps TF_NewTensor.
func NewTensorFromSlice[T any](shape []int64, data []T) (*Tensor, error) {
	typ := reflect.TypeFor[T]()
	dt, ok := dataTypeOf(typ)
	if !ok {
		return nil, errElementType(typ)
	}
	if dt == String {
		return newStrings(shape, len(data), func(i int) string { return reflect.ValueOf(data[i]).String() })
	}
	size := len(data) * dt.Size()
	return NewTensorFromBytes(dt, shape, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), size))
}

// NewTensorFromBytes returns a tensor of any data type except string, with a copy
// of raw, whose elements are in row-major order and the machine's byte order.
//
// It wraps TF_NewTensor.
func NewTensorFromBytes(dt DataType, shape []int64, raw []byte) (*Tensor, error) {
	if err := checkRaw(dt, shape, int64(len(raw))); err != nil {
		return nil, err
	}
	t, err := newTensor(dt, shape)
	if err != nil {
		return nil, err
	}
	copy(t.raw(), raw)
	return t.checked()
}

// checked returns t, or an error if t is a tensor of bools with a byte other than
// 0 and 1. Such a bool is undefined behaviour in C++.
func (t *Tensor) checked() (*Tensor, error) {
	if t.dtype != Bool {
		return t, nil
	}
	for i, b := range t.raw() {
		if b > 1 {
			t.Close()
			return nil, millrace.Errorf(millrace.ErrSchema, "element %d of type bool is %d", i, b)
		}
	}
	return t, nil
}

// checkRaw checks that a tensor has as many bytes as were given.
func checkRaw(dt DataType, shape []int64, got int64) error {
	if dt.Size() == 0 {
		return errNoBytes(dt)
	}
	n, want, err := dtype.ByteSize(dt, shape)
	if err != nil {
		return err
	}
	if got != want {
		return millrace.Errorf(millrace.ErrSchema, "shape %v of %v needs %d elements, got %d", shape, dt, n, got/int64(dt.Size()))
	}
	return nil
}

// ReadTensor reads the contents of a tensor as WriteContentsTo writes them, in
// the machine's byte order. It cannot read strings.
//
// It wraps TF_NewTensor.
func ReadTensor(dt DataType, shape []int64, r io.Reader) (*Tensor, error) {
	if dt.Size() == 0 {
		return nil, errNoBytes(dt)
	}
	t, err := newTensor(dt, shape)
	if err != nil {
		return nil, err
	}
	if r == nil {
		t.Close()
		return nil, millrace.Errorf(millrace.ErrConfig, "read tensor: the reader is nil")
	}
	if _, err := io.ReadFull(r, t.raw()); err != nil {
		t.Close()
		return nil, millrace.Errorf(millrace.ErrIO, "read tensor of %d bytes: %w", t.bytes, err)
	}
	return t.checked()
}

// raw returns the contents without a copy. The caller keeps t alive.
func (t *Tensor) raw() []byte {
	t.h.ptr()
	return t.contents()
}

// contents is raw for a tensor to which the caller holds a reference.
func (t *Tensor) contents() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(t.data)), t.bytes)
}

// Close frees the tensor, at once or when the last run that uses it ends. Slices
// from Bytes and View become invalid.
//
// It wraps TF_DeleteTensor.
func (t *Tensor) Close() error {
	if t != nil && t.h.markClosed() {
		runtime.SetFinalizer(t, nil)
		t.h.release()
	}
	return nil
}

// DataType returns the data type of the elements, 0 for a nil tensor.
func (t *Tensor) DataType() DataType {
	if t == nil {
		return 0
	}
	return t.dtype
}

// Shape returns the dimensions. It is nil for a scalar and for a nil tensor.
func (t *Tensor) Shape() []int64 {
	if t == nil {
		return nil
	}
	return append([]int64(nil), t.dims()...)
}

// AppendShape appends the dimensions to a slice and returns it. With room in the
// slice it allocates nothing.
func (t *Tensor) AppendShape(shape []int64) []int64 {
	if t == nil {
		return shape
	}
	return append(shape, t.dims()...)
}

// dims returns the dimensions without a copy.
func (t *Tensor) dims() []int64 {
	if t.rank <= len(t.few) {
		return t.few[:t.rank]
	}
	return t.many
}

// NumElements returns the product of the dimensions, 0 for a nil tensor.
func (t *Tensor) NumElements() int64 {
	if t == nil {
		return 0
	}
	return t.n
}

// ByteSize returns the size of the elements in bytes. Strings count 24 bytes each,
// without the separate memory of long strings.
func (t *Tensor) ByteSize() int64 {
	if t == nil {
		return 0
	}
	return int64(t.bytes)
}

// Bytes returns the contents without a copy, in row-major order and the machine's
// byte order. The slice is valid until Close. Do not write to it while anything
// else reads the tensor. Nothing enforces these rules: after Close the memory may
// belong to another tensor. If another goroutine may close t, make it wait for
// the readers of the slice, or use Value, which copies. Strings, resources and
// variants have no bytes.
func (t *Tensor) Bytes() ([]byte, error) {
	if t == nil || !t.h.hold() {
		return nil, errUnusable("tensor", t)
	}
	defer t.h.release()
	if t.dtype.Size() == 0 {
		return nil, errNoBytes(t.dtype)
	}
	return t.contents(), nil
}

// View returns the elements without a copy, in row-major order. The slice is
// valid until t is closed; the rules of [Tensor.Bytes] hold. T must be the Go
// type of the data type: bool for Bool, int8 for Int8 or Qint8, and so on; for
// Half and Bfloat16 it is Float16 and BFloat16, or uint16. Strings cannot be
// viewed.
func View[T any](t *Tensor) ([]T, error) {
	if t == nil || !t.h.hold() {
		return nil, errUnusable("tensor", t)
	}
	defer t.h.release()
	typ := reflect.TypeFor[T]()
	if !viewableAs(t.dtype, typ) {
		return nil, millrace.Errorf(millrace.ErrSchema, "a tensor of type %v cannot be viewed as %v", t.dtype, typ)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(t.data)), t.n), nil
}

// IsOpen reports whether t is neither nil nor closed.
func (t *Tensor) IsOpen() bool { return t != nil && t.h.isOpen() }

// WriteContentsTo writes the contents in row-major order and the machine's byte
// order. ReadTensor reads them. Strings cannot be written.
func (t *Tensor) WriteContentsTo(w io.Writer) (int64, error) {
	if t == nil || !t.h.hold() {
		return 0, errUnusable("tensor", t)
	}
	defer t.h.release()
	if t.dtype.Size() == 0 {
		return 0, errNoBytes(t.dtype)
	}
	if w == nil {
		return 0, errNoWriter()
	}
	n, err := w.Write(t.contents())
	if err != nil {
		return int64(n), millrace.Errorf(millrace.ErrIO, "write tensor: %w", err)
	}
	return int64(n), nil
}
