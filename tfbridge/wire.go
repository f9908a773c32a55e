//go:build cgo

package tfbridge

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// The few messages that are read and written here are handled field by field: a
// MetaGraphDef contains the whole graph, but only a few fields are needed.

// The fields used of AttrValue, AttrValue.ListValue and NameAttrList.
const (
	attrFieldList  = 1
	attrFieldFunc  = 10
	listFieldFunc  = 9
	funcFieldName  = 1
	funcFieldAttrs = 2
)

// funcListProto returns a list of function names as an AttrValue message.
func funcListProto(names []FuncName) AttrProto {
	var list []byte
	for _, name := range names {
		list = appendBytes(list, listFieldFunc, appendBytes(nil, funcFieldName, []byte(name)))
	}
	return appendBytes(nil, attrFieldList, list)
}

// parseFuncs returns the function or functions that an AttrValue message names, or the
// message itself if it contains anything else.
func parseFuncs(raw AttrProto) any {
	single, list := []FuncName(nil), []FuncName(nil)
	ok := wire.Each(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case attrFieldFunc:
			name, ok := funcName(v)
			single = append(single, name)
			return ok
		case attrFieldList:
			return wire.Each(v, func(num protowire.Number, v []byte, _ uint64) bool {
				name, ok := funcName(v)
				list = append(list, name)
				return ok && num == listFieldFunc
			})
		}
		return false
	})
	switch {
	case ok && len(single) == 1 && list == nil:
		return single[0]
	case ok && single == nil && list != nil:
		return list
	}
	return raw
}

// funcName reads the name out of a NameAttrList that has no attributes.
func funcName(raw []byte) (name FuncName, ok bool) {
	ok = wire.Each(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		name = FuncName(v)
		return num == funcFieldName
	})
	return name, ok
}

// appendBytes appends a field that holds bytes.
func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// appendVarint appends a field that holds a number.
func appendVarint(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}
