// Package wire reads protobuf messages field by field without generated code, for a few
// fields of a large message. [Each] stops at damage and reports it; [Fields] is for
// checked messages.
package wire

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Each calls fn with the fields of a message in their order: the bytes of a field, or
// its number if it is a varint. It stops and returns false if fn does, or if the
// message is damaged.
func Each(message []byte, fn func(num protowire.Number, bytes []byte, number uint64) bool) bool {
	for len(message) > 0 {
		num, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return false
		}
		message = message[size:]
		var bytes []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			bytes, size = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(message)
		default:
			size = protowire.ConsumeFieldValue(num, typ, message)
		}
		if size < 0 || !fn(num, bytes, number) {
			return false
		}
		message = message[size:]
	}
	return true
}

// Field is one field of a checked message. Number has the value of a field that is not
// bytes. Raw is the whole field as it was written, with its tag and its length.
type Field struct {
	Num    protowire.Number
	Wire   protowire.Type
	Bytes  []byte
	Number uint64
	Raw    []byte
}

// Fields yields the fields of a message that has been checked. It ends early if the
// message is malformed.
func Fields(b []byte) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for len(b) > 0 {
			num, wire, tag := protowire.ConsumeTag(b)
			if tag < 0 {
				return
			}
			raw, n := b, 0
			b = b[tag:]
			f := Field{Num: num, Wire: wire}
			switch wire {
			case protowire.VarintType:
				f.Number, n = protowire.ConsumeVarint(b)
			case protowire.Fixed32Type:
				var v uint32
				v, n = protowire.ConsumeFixed32(b)
				f.Number = uint64(v)
			case protowire.Fixed64Type:
				f.Number, n = protowire.ConsumeFixed64(b)
			case protowire.BytesType:
				f.Bytes, n = protowire.ConsumeBytes(b)
			default:
				return
			}
			if n < 0 {
				return
			}
			f.Raw = raw[:tag+n]
			if !yield(f) {
				return
			}
			b = b[n:]
		}
	}
}

// Numbers returns the varints of one occurrence of a repeated field, packed
// or not.
func (f Field) Numbers() []uint64 {
	if f.Wire != protowire.BytesType {
		return []uint64{f.Number}
	}
	var out []uint64
	for b := f.Bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			break
		}
		out = append(out, v)
		b = b[n:]
	}
	return out
}
