package tfbridge

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// DataType is the type of a tensor's elements, with TensorFlow's numbers.
type DataType int32

// The data types.
const (
	Float             DataType = 1
	Double            DataType = 2
	Int32             DataType = 3
	Uint8             DataType = 4
	Int16             DataType = 5
	Int8              DataType = 6
	String            DataType = 7
	Complex64         DataType = 8
	Complex           DataType = 8
	Int64             DataType = 9
	Bool              DataType = 10
	Qint8             DataType = 11
	Quint8            DataType = 12
	Qint32            DataType = 13
	Bfloat16          DataType = 14
	Qint16            DataType = 15
	Quint16           DataType = 16
	Uint16            DataType = 17
	Complex128        DataType = 18
	Half              DataType = 19
	Resource          DataType = 20
	Variant           DataType = 21
	Uint32            DataType = 22
	Uint64            DataType = 23
	Float8e5m2        DataType = 24
	Float8e4m3fn      DataType = 25
	Float8e4m3fnuz    DataType = 26
	Float8e4m3b11fnuz DataType = 27
	Float8e5m2fnuz    DataType = 28
	Int4              DataType = 29
	Uint4             DataType = 30
	Int2              DataType = 31
	Uint2             DataType = 32
	Float4e2m1fn      DataType = 33
)

// refOffset is added to a type for a reference to a variable of it (TF1).
const refOffset = 100

// Float16 is an IEEE half precision number's bits, the element of Half.
type Float16 uint16

// BFloat16 is the upper half of a float32's bits, the element of Bfloat16.
type BFloat16 uint16

// dataTypes describes each data type: its name in Python, and the Go type of
// an element, nil for those that have no contents that Go could read.
var dataTypes = [...]struct {
	name string
	typ  reflect.Type
}{
	Float:             {"float32", reflect.TypeFor[float32]()},
	Double:            {"float64", reflect.TypeFor[float64]()},
	Int32:             {"int32", reflect.TypeFor[int32]()},
	Uint8:             {"uint8", reflect.TypeFor[uint8]()},
	Int16:             {"int16", reflect.TypeFor[int16]()},
	Int8:              {"int8", reflect.TypeFor[int8]()},
	String:            {"string", reflect.TypeFor[string]()},
	Complex64:         {"complex64", reflect.TypeFor[complex64]()},
	Int64:             {"int64", reflect.TypeFor[int64]()},
	Bool:              {"bool", reflect.TypeFor[bool]()},
	Qint8:             {"qint8", reflect.TypeFor[int8]()},
	Quint8:            {"quint8", reflect.TypeFor[uint8]()},
	Qint32:            {"qint32", reflect.TypeFor[int32]()},
	Bfloat16:          {"bfloat16", reflect.TypeFor[BFloat16]()},
	Qint16:            {"qint16", reflect.TypeFor[int16]()},
	Quint16:           {"quint16", reflect.TypeFor[uint16]()},
	Uint16:            {"uint16", reflect.TypeFor[uint16]()},
	Complex128:        {"complex128", reflect.TypeFor[complex128]()},
	Half:              {"float16", reflect.TypeFor[Float16]()},
	Resource:          {"resource", nil},
	Variant:           {"variant", nil},
	Uint32:            {"uint32", reflect.TypeFor[uint32]()},
	Uint64:            {"uint64", reflect.TypeFor[uint64]()},
	Float8e5m2:        {"float8_e5m2", reflect.TypeFor[uint8]()},
	Float8e4m3fn:      {"float8_e4m3fn", reflect.TypeFor[uint8]()},
	Float8e4m3fnuz:    {"float8_e4m3fnuz", reflect.TypeFor[uint8]()},
	Float8e4m3b11fnuz: {"float8_e4m3b11fnuz", reflect.TypeFor[uint8]()},
	Float8e5m2fnuz:    {"float8_e5m2fnuz", reflect.TypeFor[uint8]()},
	Int4:              {"int4", reflect.TypeFor[int8]()},
	Uint4:             {"uint4", reflect.TypeFor[uint8]()},
	Int2:              {"int2", reflect.TypeFor[int8]()},
	Uint2:             {"uint2", reflect.TypeFor[uint8]()},
	Float4e2m1fn:      {"float4_e2m1fn", reflect.TypeFor[uint8]()},
}

// known reports whether d is a data type, not a reference and not garbage.
func (d DataType) known() bool { return d > 0 && int(d) < len(dataTypes) }

// base returns the type that a reference refers to, and d itself otherwise.
func (d DataType) base() DataType {
	if b := d - refOffset; b.known() {
		return b
	}
	return d
}

// String returns TensorFlow's Python name: "float32", "string".
func (d DataType) String() string {
	switch {
	case d.known():
		return dataTypes[d].name
	case d.base().known():
		return dataTypes[d.base()].name + "_ref"
	}
	return fmt.Sprintf("DataType(%d)", int32(d))
}

// ParseDataType returns the data type of a Python name: "float32", "string".
func ParseDataType(name string) (DataType, bool) {
	for d, t := range dataTypes {
		if t.name == name && name != "" {
			return DataType(d), true
		}
	}
	return 0, false
}

// Size returns the bytes of one element, 0 for string, resource and variant.
func (d DataType) Size() int {
	if t := d.goType(); t != nil && t.Kind() != reflect.String {
		return int(t.Size())
	}
	return 0
}

// IntRange returns the least and the greatest value of an integer type of 8 to
// 64 bits. It is false for all other types, quantized ones among them.
func (d DataType) IntRange() (least int64, greatest uint64, ok bool) {
	switch d {
	case Int8, Int16, Int32, Int64:
		bits := 8 * d.Size()
		return -1 << (bits - 1), 1<<(bits-1) - 1, true
	case Uint8, Uint16, Uint32, Uint64:
		return 0, math.MaxUint64 >> (64 - 8*d.Size()), true
	}
	return 0, 0, false
}

// goType returns the Go type of an element, nil if there is none.
func (d DataType) goType() reflect.Type {
	if !d.known() {
		return nil
	}
	return dataTypes[d].typ
}

// TypeOf returns the Go type of a tensor's Value: of an element, or of slices
// nested as deep as there are dimensions. It is nil for a type that has no
// contents Go could read.
func TypeOf(dt DataType, shape []int64) reflect.Type {
	typ := dt.goType()
	if typ == nil {
		return nil
	}
	for range shape {
		typ = reflect.SliceOf(typ)
	}
	return typ
}

// plainTypes are the data types that a Go kind stands for when nothing more
// is said.
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
func (d DataType) viewableAs(t reflect.Type) bool {
	own := d.goType()
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
	return ok && from.goType().Kind() == own.Kind()
}
