//go:build cgo

package tfbridge

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// NewTensor converts a Go value to a tensor: a bool, number or string, or
// arrays and slices of these, nested to any depth. Slices at one depth must
// have the same length. A []byte is a vector of uint8; see NewStringTensor for
// strings held as []byte. The elements cannot be int, uint or uintptr, whose
// size depends on the machine.
//
// It wraps TF_NewTensor, and TF_StringCopy for strings.
func NewTensor(value any) (*Tensor, error) {
	if value == nil {
		return nil, millrace.Errorf(millrace.ErrSchema, "nil is not a value for a tensor")
	}
	v := reflect.ValueOf(value)
	dt, shape, err := inspect(v)
	if err != nil {
		return nil, err
	}
	f := flattener{shape: shape}
	if err := f.check(v, 0); err != nil {
		return nil, err
	}
	if dt == String {
		text := f.strings(v)
		return newStrings(shape, len(text), func(i int) string { return text[i] })
	}
	t, err := newTensor(dt, shape)
	if err != nil {
		return nil, err
	}
	f.raw = t.raw()[:0] // the tensor is filled in place; the lengths have been checked
	f.numbers(v, 0)
	return t, nil
}

// inspect returns the type and shape of a value. It follows the first element
// at each depth.
func inspect(v reflect.Value) (DataType, []int64, error) {
	shape := []int64{}
	typ := v.Type()
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
		n := 0
		if typ.Kind() == reflect.Array {
			n = typ.Len()
		} else if v.IsValid() {
			n = v.Len()
		}
		shape = append(shape, int64(n))
		if v.IsValid() && n > 0 {
			v = v.Index(0)
		} else {
			v = reflect.Value{} // there are no elements; below this only the type is known
		}
		typ = typ.Elem()
	}
	dt, ok := dataTypeOf(typ)
	if kind := typ.Kind(); kind == reflect.Int || kind == reflect.Uint {
		return 0, nil, millrace.Errorf(millrace.ErrSchema, "no data type for elements of type %v; use %v32 or %v64", typ, kind, kind)
	}
	if !ok {
		return 0, nil, errElementType(typ)
	}
	return dt, shape, nil
}

// flattener lays the elements of a nested value end to end.
type flattener struct {
	shape []int64
	index []int // index of the current element, for messages
	raw   []byte
}

// check returns an error unless all slices at one depth have the same length.
// It runs before the tensor is allocated, because the lengths of the first
// slices may multiply to any size.
func (f *flattener) check(v reflect.Value, depth int) error {
	if err := f.checkLen(v, depth); err != nil {
		return err
	}
	if depth >= len(f.shape)-1 || v.Kind() == reflect.Array && flat(v.Type()) {
		return nil
	}
	return f.each(v, func(e reflect.Value) error { return f.check(e, depth+1) })
}

// numbers appends the elements of v, which is a value at depth.
func (f *flattener) numbers(v reflect.Value, depth int) {
	if depth >= len(f.shape)-1 || v.Kind() == reflect.Array && flat(v.Type()) {
		f.raw = append(f.raw, memory(v)...)
		return
	}
	for i := range v.Len() {
		f.numbers(v.Index(i), depth+1)
	}
}

// strings returns the strings of v. If they are contiguous in memory, it
// returns them without a copy.
func (f *flattener) strings(v reflect.Value) []string {
	if len(f.shape) == 0 {
		return []string{v.String()}
	}
	if len(f.shape) == 1 || v.Kind() == reflect.Array && flat(v.Type()) {
		return stringsIn(v)
	}
	n, _ := dtype.Elements(f.shape) // newStrings returns the error for a bad shape
	out := make([]string, 0, n)
	var collect func(v reflect.Value, depth int)
	collect = func(v reflect.Value, depth int) {
		if depth == len(f.shape)-1 || v.Kind() == reflect.Array && flat(v.Type()) {
			out = append(out, stringsIn(v)...)
			return
		}
		for i := range v.Len() {
			collect(v.Index(i), depth+1)
		}
	}
	collect(v, 0)
	return out
}

// stringsIn returns the strings in the memory of a slice of strings, or of an
// array, nested or not.
func stringsIn(v reflect.Value) []string {
	raw := memory(v)
	return unsafe.Slice((*string)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/int(unsafe.Sizeof("")))
}

// each calls fn for the elements of v.
func (f *flattener) each(v reflect.Value, fn func(reflect.Value) error) error {
	for i := range v.Len() {
		f.index = append(f.index, i)
		if err := fn(v.Index(i)); err != nil {
			return err
		}
		f.index = f.index[:len(f.index)-1]
	}
	return nil
}

// checkLen returns an error if v is not as long as the first slice at its depth.
func (f *flattener) checkLen(v reflect.Value, depth int) error {
	if depth < len(f.shape) && int64(v.Len()) != f.shape[depth] {
		var at strings.Builder
		for _, i := range f.index {
			fmt.Fprintf(&at, "[%d]", i)
		}
		return millrace.Errorf(millrace.ErrSchema, "ragged value: element %s has length %d, others %d", &at, v.Len(), f.shape[depth])
	}
	return nil
}

// flat reports whether an array's memory consists of its elements only.
func flat(t reflect.Type) bool {
	for t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() != reflect.Slice
}

// memory returns the bytes of a number, of a slice of numbers or strings, or of
// an array of them.
func memory(v reflect.Value) []byte {
	if v.Kind() == reflect.Slice {
		size := v.Len() * int(v.Type().Elem().Size())
		return unsafe.Slice((*byte)(v.UnsafePointer()), size)
	}
	if !v.CanAddr() {
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		v = c
	}
	return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())
}

// Value returns the contents as a Go value: a scalar, or slices nested as deep
// as the tensor has dimensions, copied. It is nil after Close, and for a type
// whose contents Go cannot read. Elements of Half and Bfloat16 become Float16
// and BFloat16. TypeOf returns the type of the result.
func (t *Tensor) Value() any {
	if t == nil || !t.h.hold() {
		return nil
	}
	defer t.h.release()
	flat := t.flatValue(goType(t.dtype))
	if !flat.IsValid() {
		return nil
	}
	if len(t.dims()) == 0 {
		return flat.Index(0).Interface()
	}
	return nest(flat, t.dims()).Interface()
}

// flatValue returns a slice with a copy of the tensor's elements, and an empty
// slice for a tensor without contents. The caller holds the tensor.
func (t *Tensor) flatValue(typ reflect.Type) reflect.Value {
	switch {
	case typ == nil:
		return reflect.Value{}
	case t.dtype == String:
		return reflect.ValueOf(t.stringsHeld())
	}
	out := reflect.MakeSlice(reflect.SliceOf(typ), int(t.n), int(t.n))
	copy(memory(out), t.contents())
	return out
}

// nest folds a flat slice into slices of slices.
func nest(flat reflect.Value, dims []int64) reflect.Value {
	if len(dims) == 1 {
		return flat
	}
	typ := flat.Type()
	for range len(dims) - 1 {
		typ = reflect.SliceOf(typ)
	}
	n := int(dims[0])
	out := reflect.MakeSlice(typ, n, n)
	if n == 0 {
		return out
	}
	each := flat.Len() / n
	for i := range n {
		out.Index(i).Set(nest(flat.Slice3(i*each, (i+1)*each, (i+1)*each), dims[1:]))
	}
	return out
}

// String returns the data type and the shape, such as "float32 [2 3]". Value
// returns the contents.
func (t *Tensor) String() string {
	switch {
	case t == nil:
		return "nil tensor"
	case !t.IsOpen():
		return "closed tensor"
	}
	return fmt.Sprintf("%v %v", t.DataType(), t.Shape())
}
