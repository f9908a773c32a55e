package message

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// Field numbers of NodeDef, AttrValue and NameAttrList.
const (
	NodeName, NodeOp, NodeInput, NodeAttr = 1, 2, 3, 5

	AttrListField, attrStringField, attrIntField, attrTypeField          = 1, 2, 3, 6
	AttrShapeField, AttrTensorField, AttrPlaceholderField, AttrFuncField = 7, 8, 9, 10

	listTypeField, ListShapeField, ListFuncField = 6, 7, 9

	FuncName, FuncAttr = 1, 2
)

// MapEntry reads an entry of a map from strings to messages.
func MapEntry(b []byte) (key string, value []byte) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case 1:
			key = string(f.Bytes)
		case 2:
			value = f.Bytes
		}
	}
	return key, value
}

// Find returns one field of an AttrValue.
func Find(v []byte, num protowire.Number) (wire.Field, bool) {
	for f := range wire.Fields(v) {
		if f.Num == num {
			return f, true
		}
	}
	return wire.Field{}, false
}

// AttrInt returns the integer in an AttrValue.
func AttrInt(v []byte) (int64, bool) {
	f, ok := Find(v, attrIntField)
	return int64(f.Number), ok
}

// AttrType returns the DataType in an AttrValue.
func AttrType(v []byte) (int32, bool) {
	f, ok := Find(v, attrTypeField)
	return int32(f.Number), ok
}

// AttrString returns the bytes in an AttrValue.
func AttrString(v []byte) (string, bool) {
	f, ok := Find(v, attrStringField)
	return string(f.Bytes), ok
}

// AttrTypes returns the list of DataTypes in an AttrValue.
func AttrTypes(v []byte) ([]int32, bool) {
	list, ok := Find(v, AttrListField)
	var types []int32
	for f := range wire.Fields(list.Bytes) {
		if f.Num == listTypeField {
			for _, n := range f.Numbers() {
				types = append(types, int32(n))
			}
		}
	}
	return types, ok
}
