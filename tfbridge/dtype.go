//go:build cgo

package tfbridge

import (
	"reflect"
	"strconv"

	"millrace"
	"millrace/dtype"
)

// DataType is the type of a tensor's elements, with TensorFlow's numbers.
type DataType = dtype.DataType

// The data types.
const (
	Float             = dtype.Float
	Double            = dtype.Double
	Int32             = dtype.Int32
	Uint8             = dtype.Uint8
	Int16             = dtype.Int16
	Int8              = dtype.Int8
	String            = dtype.String
	Complex64         = dtype.Complex64
	Complex           = dtype.Complex
	Int64             = dtype.Int64
	Bool              = dtype.Bool
	Qint8             = dtype.Qint8
	Quint8            = dtype.Quint8
	Qint32            = dtype.Qint32
	Bfloat16          = dtype.Bfloat16
	Qint16            = dtype.Qint16
	Quint16           = dtype.Quint16
	Uint16            = dtype.Uint16
	Complex128        = dtype.Complex128
	Half              = dtype.Half
	Resource          = dtype.Resource
	Variant           = dtype.Variant
	Uint32            = dtype.Uint32
	Uint64            = dtype.Uint64
	Float8e5m2        = dtype.Float8e5m2
	Float8e4m3fn      = dtype.Float8e4m3fn
	Float8e4m3fnuz    = dtype.Float8e4m3fnuz
	Float8e4m3b11fnuz = dtype.Float8e4m3b11fnuz
	Float8e5m2fnuz    = dtype.Float8e5m2fnuz
	Int4              = dtype.Int4
	Uint4             = dtype.Uint4
	Int2              = dtype.Int2
	Uint2             = dtype.Uint2
	Float4e2m1fn      = dtype.Float4e2m1fn
)

// aliases are the alternative names of data types that Python's tf.as_dtype accepts.
var aliases = map[string]DataType{"half": Half, "float": Float, "double": Double}

// ParseDataType returns the data type of a name that Python's tf.as_dtype accepts:
// "float32", "string", "half".
func ParseDataType(name string) (DataType, bool) {
	if d, ok := aliases[name]; ok {
		return d, true
	}
	return dtype.Parse(name)
}

// Float16 is an IEEE half precision number's bits, the element of Half.
type Float16 = dtype.Float16

// BFloat16 is the upper half of a float32's bits, the element of Bfloat16.
type BFloat16 = dtype.BFloat16

// NewFloat16 returns the half precision number nearest to f, see
// [dtype.NewFloat16].
func NewFloat16(f float32) Float16 { return dtype.NewFloat16(f) }

// NewBFloat16 returns the bfloat16 nearest to f, see [dtype.NewBFloat16].
func NewBFloat16(f float32) BFloat16 { return dtype.NewBFloat16(f) }

// goTypes holds the Go type of an element of each data type. Types whose contents Go
// cannot read are absent.
var goTypes = [...]reflect.Type{
	Float:             reflect.TypeFor[float32](),
	Double:            reflect.TypeFor[float64](),
	Int32:             reflect.TypeFor[int32](),
	Uint8:             reflect.TypeFor[uint8](),
	Int16:             reflect.TypeFor[int16](),
	Int8:              reflect.TypeFor[int8](),
	String:            reflect.TypeFor[string](),
	Complex64:         reflect.TypeFor[complex64](),
	Int64:             reflect.TypeFor[int64](),
	Bool:              reflect.TypeFor[bool](),
	Qint8:             reflect.TypeFor[int8](),
	Quint8:            reflect.TypeFor[uint8](),
	Qint32:            reflect.TypeFor[int32](),
	Bfloat16:          reflect.TypeFor[BFloat16](),
	Qint16:            reflect.TypeFor[int16](),
	Quint16:           reflect.TypeFor[uint16](),
	Uint16:            reflect.TypeFor[uint16](),
	Complex128:        reflect.TypeFor[complex128](),
	Half:              reflect.TypeFor[Float16](),
	Uint32:            reflect.TypeFor[uint32](),
	Uint64:            reflect.TypeFor[uint64](),
	Float8e5m2:        reflect.TypeFor[uint8](),
	Float8e4m3fn:      reflect.TypeFor[uint8](),
	Float8e4m3fnuz:    reflect.TypeFor[uint8](),
	Float8e4m3b11fnuz: reflect.TypeFor[uint8](),
	Float8e5m2fnuz:    reflect.TypeFor[uint8](),
	Int4:              reflect.TypeFor[int8](),
	Uint4:             reflect.TypeFor[uint8](),
	Int2:              reflect.TypeFor[int8](),
	Uint2:             reflect.TypeFor[uint8](),
	Float4e2m1fn:      reflect.TypeFor[uint8](),
}

// goType returns the Go type of an element, nil if there is none.
func goType(d DataType) reflect.Type {
	if d < 0 || int(d) >= len(goTypes) {
		return nil
	}
	return goTypes[d]
}

// TypeOf returns the Go type of a tensor's Value: the type of an element for a
// scalar, otherwise slices nested as deep as the tensor has dimensions. It is
// nil for a type whose contents Go cannot read.
func TypeOf(dt DataType, shape []int64) reflect.Type {
	typ := goType(dt)
	if typ == nil {
		return nil
	}
	for range shape {
		typ = reflect.SliceOf(typ)
	}
	return typ
}

// plainTypes are the data types of Go kinds.
var plainTypes = map[reflect.Kind]DataType{
	reflect.Bool: Bool, reflect.String: String,
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float, reflect.Float64: Double,
	reflect.Complex64: Complex64, reflect.Complex128: Complex128,
}

// dataTypeOf returns the data type for elements of a Go type. An int is an
// int64 and a uint a uint64 where they have 64 bits.
func dataTypeOf(t reflect.Type) (DataType, bool) {
	switch t {
	case reflect.TypeFor[Float16]():
		return Half, true
	case reflect.TypeFor[BFloat16]():
		return Bfloat16, true
	}
	kind := t.Kind()
	if kind == reflect.Int && strconv.IntSize == 64 {
		kind = reflect.Int64
	}
	if kind == reflect.Uint && strconv.IntSize == 64 {
		kind = reflect.Uint64
	}
	d, ok := plainTypes[kind]
	return d, ok
}

// viewableAs reports whether elements of d can be read as the Go type t:
// its own kind or, for the 16-bit floats, uint16.
func viewableAs(d DataType, t reflect.Type) bool {
	own := goType(d)
	if own == nil || own.Kind() == reflect.String {
		return false
	}
	switch t {
	case reflect.TypeFor[Float16]():
		return d == Half
	case reflect.TypeFor[BFloat16]():
		return d == Bfloat16
	}
	from, ok := dataTypeOf(t)
	return ok && goType(from).Kind() == own.Kind()
}

// errElementType is the error about a Go type that cannot be an element of a tensor.
func errElementType(t reflect.Type) error {
	return millrace.Errorf(millrace.ErrSchema, "no data type for elements of type %v", t)
}

// errNoBytes is the error about a data type whose tensors are not plain memory.
func errNoBytes(d DataType) error {
	return millrace.Errorf(millrace.ErrSchema, "a tensor of type %v has no plain bytes", d)
}

// Shape is the shape of a tensor as far as it is known: its dimensions may be
// unknown one by one (-1) or altogether. The zero value is an unknown shape.
type Shape = dtype.Shape

// ScalarShape returns the shape of a scalar.
func ScalarShape() Shape { return dtype.ScalarShape() }

// MakeShape returns a shape with dimensions dims, -1 for an unknown one. The
// zero Shape is an unknown shape.
func MakeShape(dims ...int64) Shape { return dtype.MakeShape(dims...) }
