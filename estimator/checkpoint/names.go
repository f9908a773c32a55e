package checkpoint

import (
	"encoding/binary"

	"millrace/internal/base/tfproto"
)

// A constant of strings has one of two forms in a graph. Python writes string_val.
// TensorFlow's C API, and so every graph built in Go, writes tensor_content, which
// holds the length of each string as a varint and then all of the bytes:
//
//	[]string{"ab", "c"}    02 01 'a' 'b' 'c'

// constantStrings returns the strings of a constant, nil if there are none or the
// content is damaged.
func constantStrings(t *tfproto.TensorProto) []string {
	var list []string
	for _, s := range t.GetStringVal() {
		list = append(list, string(s))
	}
	rest := t.GetTensorContent()
	if len(rest) == 0 || len(list) > 0 {
		return list
	}
	count := int64(1)
	for _, d := range t.GetTensorShape().GetDim() {
		if d.GetSize() < 0 || d.GetSize() > int64(len(rest)) {
			return nil
		}
		if count *= d.GetSize(); count > int64(len(rest)) {
			return nil // each string has a byte of length at least
		}
	}
	lengths := make([]uint64, count)
	for i := range lengths {
		length, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil
		}
		lengths[i], rest = length, rest[size:]
	}
	for _, length := range lengths {
		if length > uint64(len(rest)) {
			return nil
		}
		list, rest = append(list, string(rest[:length])), rest[length:]
	}
	return list
}
