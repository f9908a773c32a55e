package modeltest

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reversed returns the bytes of a message of the type of m with its singular fields and the
// entries of its maps backwards, before the elements of lists. They mean the same.
func Reversed(b []byte, m proto.Message) []byte {
	return reversed(b, m.ProtoReflect().Descriptor())
}

func reversed(b []byte, d protoreflect.MessageDescriptor) []byte {
	var lists, rest []byte
	for len(b) > 0 {
		num, wire, tag := protowire.ConsumeTag(b)
		n := protowire.ConsumeFieldValue(num, wire, b[tag:])
		field, value := b[:tag+n], b[tag:tag+n]
		b = b[tag+n:]
		f := d.Fields().ByNumber(num)
		if f != nil && f.Message() != nil {
			inner, _ := protowire.ConsumeBytes(value)
			field = protowire.AppendBytes(protowire.AppendTag(nil, num, wire), reversed(inner, f.Message()))
		}
		if f != nil && (!f.IsList() || f.IsMap()) {
			rest = append(append([]byte(nil), field...), rest...)
		} else {
			lists = append(lists, field...)
		}
	}
	return append(rest, lists...)
}
