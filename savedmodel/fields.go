package savedmodel

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of NodeDef, AttrValue and NameAttrList.
const (
	nodeName, nodeOp, nodeInput, nodeAttr = 1, 2, 3, 5

	attrListField, attrStringField, attrIntField, attrTypeField = 1, 2, 3, 6
	attrTensorField, attrPlaceholderField, attrFuncField        = 8, 9, 10

	listTypeField, listFuncField = 6, 9

	funcName, funcAttr = 1, 2
)

// mapEntry reads an entry of a map from strings to messages.
func mapEntry(b []byte) (key string, value []byte) {
	for f := range fieldsOf(b) {
		switch f.num {
		case 1:
			key = string(f.bytes)
		case 2:
			value = f.bytes
		}
	}
	return key, value
}

// attrField returns one field of an AttrValue.
func attrField(v []byte, num protowire.Number) (wireField, bool) {
	for f := range fieldsOf(v) {
		if f.num == num {
			return f, true
		}
	}
	return wireField{}, false
}

// attrInt returns the integer in an AttrValue.
func attrInt(v []byte) (int64, bool) {
	f, ok := attrField(v, attrIntField)
	return int64(f.number), ok
}

// attrType returns the DataType in an AttrValue.
func attrType(v []byte) (int32, bool) {
	f, ok := attrField(v, attrTypeField)
	return int32(f.number), ok
}

// attrString returns the bytes in an AttrValue.
func attrString(v []byte) (string, bool) {
	f, ok := attrField(v, attrStringField)
	return string(f.bytes), ok
}

// attrTypes returns the list of DataTypes in an AttrValue.
func attrTypes(v []byte) ([]int32, bool) {
	list, ok := attrField(v, attrListField)
	var types []int32
	for f := range fieldsOf(list.bytes) {
		if f.num == listTypeField {
			for _, n := range f.numbersIn() {
				types = append(types, int32(n))
			}
		}
	}
	return types, ok
}
