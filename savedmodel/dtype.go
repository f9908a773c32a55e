package savedmodel

import "fmt"

// refTypes is what TensorFlow adds to a DataType to make a reference of it.
const refTypes = 100

// DataTypes that the checks treat in their own way.
const (
	typeString   = 7
	typeResource = 20
	typeVariant  = 21
)

// dataType is a DataType's name in Python, and the size of an element, 0 where
// that varies.
type dataType struct {
	name string
	size int64
}

// dataTypes holds what is known of each DataType, by its number.
var dataTypes = map[int32]dataType{
	1: {"float32", 4}, 2: {"float64", 8}, 3: {"int32", 4}, 4: {"uint8", 1}, 5: {"int16", 2}, 6: {"int8", 1},
	7: {"string", 0}, 8: {"complex64", 8}, 9: {"int64", 8}, 10: {"bool", 1}, 11: {"qint8", 1}, 12: {"quint8", 1},
	13: {"qint32", 4}, 14: {"bfloat16", 2}, 15: {"qint16", 2}, 16: {"quint16", 2}, 17: {"uint16", 2},
	18: {"complex128", 16}, 19: {"float16", 2}, 20: {"resource", 0}, 21: {"variant", 0}, 22: {"uint32", 4}, 23: {"uint64", 8},
	24: {"float8_e5m2", 1}, 25: {"float8_e4m3fn", 1}, 26: {"float8_e4m3fnuz", 1}, 27: {"float8_e4m3b11fnuz", 1},
	28: {"float8_e5m2fnuz", 1}, 29: {"int4", 1}, 30: {"uint4", 1}, 31: {"int2", 1}, 32: {"uint2", 1},
}

// typeName names a DataType for a message.
func typeName(t int32) string {
	if d, ok := dataTypes[t%refTypes]; ok {
		return d.name
	}
	return fmt.Sprintf("type %d", t)
}
