package dtype

import (
	"fmt"
	"math"
	"strings"
)

// DataType is the type of a tensor's elements, with TensorFlow's numbers.
type DataType int32

// The data types, with the names of TensorFlow's own Go binding.
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

// refOffset is added to a type for a reference to a variable of that type (TensorFlow
// 1).
const refOffset = 100

// dataTypes describes each data type by its number: its name in Python, and the bytes
// of an element, 0 if the size of elements varies.
var dataTypes = [...]struct {
	name string
	size int
}{
	Float:             {"float32", 4},
	Double:            {"float64", 8},
	Int32:             {"int32", 4},
	Uint8:             {"uint8", 1},
	Int16:             {"int16", 2},
	Int8:              {"int8", 1},
	String:            {"string", 0},
	Complex64:         {"complex64", 8},
	Int64:             {"int64", 8},
	Bool:              {"bool", 1},
	Qint8:             {"qint8", 1},
	Quint8:            {"quint8", 1},
	Qint32:            {"qint32", 4},
	Bfloat16:          {"bfloat16", 2},
	Qint16:            {"qint16", 2},
	Quint16:           {"quint16", 2},
	Uint16:            {"uint16", 2},
	Complex128:        {"complex128", 16},
	Half:              {"float16", 2},
	Resource:          {"resource", 0},
	Variant:           {"variant", 0},
	Uint32:            {"uint32", 4},
	Uint64:            {"uint64", 8},
	Float8e5m2:        {"float8_e5m2", 1},
	Float8e4m3fn:      {"float8_e4m3fn", 1},
	Float8e4m3fnuz:    {"float8_e4m3fnuz", 1},
	Float8e4m3b11fnuz: {"float8_e4m3b11fnuz", 1},
	Float8e5m2fnuz:    {"float8_e5m2fnuz", 1},
	Int4:              {"int4", 1},
	Uint4:             {"uint4", 1},
	Int2:              {"int2", 1},
	Uint2:             {"uint2", 1},
	Float4e2m1fn:      {"float4_e2m1fn", 1},
}

// otherNames are the names of data types in other systems: NumPy, C, Go and SQL.
var otherNames = map[string]DataType{
	"half": Half, "float": Float, "double": Double, "int": Int64, "long": Int64,
	"uint": Uint64, "byte": Uint8, "boolean": Bool, "str": String, "bytes": String,
}

// Parse returns the data type of a name in Python: "float32", "string".
func Parse(name string) (DataType, bool) {
	for d, t := range dataTypes {
		if t.name == name && name != "" {
			return DataType(d), true
		}
	}
	return 0, false
}

// ParseOther returns the data type for a name of another system: "half", "double",
// "bytes", in any case. Parse does not accept these names; they are for messages that
// suggest the intended type.
func ParseOther(name string) (DataType, bool) {
	d, ok := otherNames[strings.ToLower(name)]
	return d, ok
}

// Known reports whether d is one of the data types above, and not a reference or an
// unknown number.
func (d DataType) Known() bool { return d > 0 && int(d) < len(dataTypes) }

// Base returns the type that a reference refers to, and d itself otherwise.
func (d DataType) Base() DataType {
	if b := d - refOffset; b.Known() {
		return b
	}
	return d
}

// String returns TensorFlow's name in Python: "float32", "string".
func (d DataType) String() string {
	switch {
	case d.Known():
		return dataTypes[d].name
	case d.Base().Known():
		return dataTypes[d.Base()].name + "_ref"
	}
	return fmt.Sprintf("DataType(%d)", int32(d))
}

// Size returns the bytes of one element, 0 for string, resource and variant.
func (d DataType) Size() int {
	if !d.Known() {
		return 0
	}
	return dataTypes[d].size
}

// IntRange returns the least and the greatest value of an integer type of 8 to 64 bits.
// It reports false for all other types, including quantized ones.
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
