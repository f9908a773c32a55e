package tfbridge

// #include "capi.h"
import "C"

import (
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// Rows collects copies of Go values of one data type and shape, end to end, and
// makes one tensor of them. Only one goroutine at a time may use it.
type Rows struct {
	dtype DataType
	spec  Shape // shape of one value, with -1 where it varies
	limit int64 // limit of the bytes of all values
	empty bool  // values may have no elements

	dims   []int64 // dimensions of the values so far
	n      int64
	raw    []byte  // numbers, or the strings end to end
	ends   []int64 // where the strings end
	one    [1]int64
	known  reflect.Type
	scalar DataType // data type of known's elements
}

// RowsOptions are the options of [NewRows].
type RowsOptions struct {
	MaxBytes int64 // limit of the bytes of all values; 0: no limit
	Empty    bool  // values may have no elements
}

// NewRows returns Rows for values of a data type and a shape. A dimension of -1
// takes the size that the first value has.
func NewRows(dtype DataType, shape Shape, o *RowsOptions) *Rows {
	if o == nil {
		o = &RowsOptions{}
	}
	return &Rows{dtype: dtype, spec: shape, limit: o.MaxBytes, empty: o.Empty}
}

// Len returns the number of values.
func (r *Rows) Len() int { return int(r.n) }

// Add appends a copy of a value that NewTensor takes, of a *Tensor, or of an interface
// that holds one of them. It returns false and adds nothing if the value has another
// shape than the earlier values. Errors are of class millrace.ErrSchema, and ErrLimit
// for too many bytes. After an error Truncate removes what was added.
func (r *Rows) Add(v reflect.Value) (bool, error) {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Interface {
		return false, millrace.Errorf(millrace.ErrSchema, "the value is nil, want %v%v", r.dtype, r.spec)
	}
	if v.Type() == reflect.TypeFor[*Tensor]() {
		return r.addTensor(v.Interface().(*Tensor))
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if inner := v.Type().Elem().Kind(); inner == reflect.Slice || inner == reflect.Array || inner == reflect.String {
			return r.addNested(v)
		}
		r.one[0] = int64(v.Len())
		if ok, err := r.fits(v.Type(), r.one[:]); !ok || err != nil {
			return false, err
		}
		r.append(memory(v))
	case reflect.String:
		if ok, err := r.fits(v.Type(), nil); !ok || err != nil {
			return false, err
		}
		if err := r.checkBytes(int64(v.Len())); err != nil {
			return false, err
		}
		r.text(v.String())
	default:
		if ok, err := r.fits(v.Type(), nil); !ok || err != nil {
			return false, err
		}
		r.append(memory(v))
	}
	r.n++
	return true, nil
}

// addTensor appends a tensor's contents.
func (r *Rows) addTensor(t *Tensor) (bool, error) {
	if t == nil || !t.h.hold() { // hold keeps the owner from freeing it meanwhile
		return false, millrace.Errorf(millrace.ErrSchema, "%v", errUnusable("tensor", t))
	}
	defer t.h.release()
	if t.dtype != r.dtype {
		return false, r.errType(t.dtype)
	}
	if ok, err := r.fitsShape(t.dims()); !ok || err != nil {
		return false, err
	}
	if t.dtype == String {
		all, err := t.Strings()
		if err != nil {
			return false, err
		}
		for _, s := range all {
			r.text(s)
		}
	} else {
		raw, err := t.Bytes()
		if err != nil {
			return false, err
		}
		r.append(raw)
	}
	r.n++
	return true, nil
}

// addNested appends slices of slices, or of strings.
func (r *Rows) addNested(v reflect.Value) (bool, error) {
	dt, shape, err := inspect(v)
	if err != nil {
		return false, err
	}
	if dt != r.dtype {
		return false, r.errType(dt)
	}
	if ok, err := r.fitsShape(shape); !ok || err != nil {
		return false, err
	}
	f := flattener{shape: shape}
	if err := f.check(v, 0); err != nil {
		return false, err
	}
	if dt == String {
		for _, s := range f.strings(v) {
			if err := r.checkBytes(int64(len(s))); err != nil {
				return false, err
			}
			r.text(s)
		}
	} else {
		f.raw = r.raw
		f.numbers(v, 0)
		r.raw = f.raw
	}
	r.n++
	return true, nil
}

// fits checks the element type and the shape of a value.
func (r *Rows) fits(typ reflect.Type, dims []int64) (bool, error) {
	if typ != r.known {
		elem := typ
		if len(dims) > 0 {
			elem = typ.Elem()
		}
		dt, ok := dataTypeOf(elem)
		if !ok {
			return false, errElementType(elem)
		}
		r.known, r.scalar = typ, dt
	}
	if r.scalar != r.dtype {
		return false, r.errType(r.scalar)
	}
	return r.fitsShape(dims)
}

// fitsShape checks the shape and the size of a value.
func (r *Rows) fitsShape(dims []int64) (bool, error) {
	if r.n > 0 && slices.Equal(r.dims, dims) {
		return true, r.checkBytes(r.rowBytes())
	}
	if !r.spec.Accepts(dims) {
		return false, millrace.Errorf(millrace.ErrSchema, "shape %v, want %v", dims, r.spec)
	}
	if slices.Contains(dims, 0) && !r.empty && !slices.Contains(r.spec.Dims(), 0) {
		return false, millrace.Errorf(millrace.ErrSchema, "shape %v: the value is empty", dims)
	}
	if r.n > 0 {
		return false, nil
	}
	r.dims = append(r.dims[:0], dims...)
	return true, r.checkBytes(r.rowBytes())
}

// rowBytes returns the bytes of a value, without those of strings.
func (r *Rows) rowBytes() int64 {
	n, size, err := dtype.ByteSize(r.dtype, r.dims)
	if err != nil {
		return 1 << 62
	}
	if r.dtype == String {
		return n * 8 // each string has an entry in ends
	}
	return size
}

// checkBytes returns an error if more bytes would exceed the limit.
func (r *Rows) checkBytes(more int64) error {
	if r.limit > 0 && int64(len(r.raw)+8*len(r.ends))+more > r.limit {
		return millrace.Errorf(millrace.ErrLimit, "%d bytes in addition to %d exceed the limit of %d", more, len(r.raw)+8*len(r.ends), r.limit)
	}
	return nil
}

func (r *Rows) errType(got DataType) error {
	return millrace.Errorf(millrace.ErrSchema, "type %v, want %v", got, r.dtype)
}

func (r *Rows) append(raw []byte) { r.raw = append(r.raw, raw...) }

func (r *Rows) text(s string) {
	r.raw = append(r.raw, s...)
	r.ends = append(r.ends, int64(len(r.raw)))
}

// Bytes returns the size of the values in bytes.
func (r *Rows) Bytes() int64 { return int64(len(r.raw) + 8*len(r.ends)) }

// Truncate keeps the first n values and removes the rest.
func (r *Rows) Truncate(n int) {
	each, err := dtype.Elements(r.dims)
	if err != nil {
		each, n = 0, 0
	}
	r.n = min(r.n, int64(n))
	if r.dtype != String {
		r.raw = r.raw[:r.n*each*int64(r.dtype.Size())]
		return
	}
	r.ends = r.ends[:r.n*each]
	end := int64(0)
	if len(r.ends) > 0 {
		end = r.ends[len(r.ends)-1]
	}
	r.raw = r.raw[:end]
}

// Tensor returns a tensor of the values and removes them. Its shape is the outer
// dimensions followed by those of one value; the product of the outer dimensions
// must be the number of values. Without values, dimensions of -1 become 0.
func (r *Rows) Tensor(outer ...int64) (*Tensor, error) {
	dims := append(outer, r.dims...)
	if r.n == 0 {
		dims = append(outer, r.spec.Dims()...)
		for i, d := range dims {
			dims[i] = max(d, 0)
		}
	}
	defer r.Truncate(0)
	if r.dtype != String {
		return NewTensorFromBytes(r.dtype, dims, r.raw)
	}
	t, err := newTensor(String, dims)
	if err != nil || len(r.ends) == 0 {
		return t, err
	}
	defer runtime.KeepAlive(t)
	C.mr_set_strings(t.h.ptr(), 0, C.int64_t(len(r.ends)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(r.raw))), (*C.int64_t)(unsafe.SliceData(r.ends)))
	return t, nil
}

// TypeSpec returns the data type and shape of the values of a Go type, as
// NewTensor takes them: slices have dimensions of -1.
func TypeSpec(t reflect.Type) (DataType, Shape, error) {
	dims, elem := []int64{}, t
	for elem.Kind() == reflect.Slice || elem.Kind() == reflect.Array {
		n := int64(-1)
		if elem.Kind() == reflect.Array {
			n = int64(elem.Len())
		}
		dims, elem = append(dims, n), elem.Elem()
	}
	dt, ok := dataTypeOf(elem)
	if !ok {
		return 0, Shape{}, errElementType(elem)
	}
	return dt, MakeShape(dims...), nil
}
