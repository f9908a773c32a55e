package wire

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is one field of a checked message. Number holds what is not bytes.
type Field struct {
	Num    protowire.Number
	Wire   protowire.Type
	Bytes  []byte
	Number uint64
}

// Fields yields the fields of a message that has been checked. On a malformed
// message it ends early.
func Fields(b []byte) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for len(b) > 0 {
			num, wire, n := protowire.ConsumeTag(b)
			if n < 0 {
				return
			}
			b = b[n:]
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
			if n < 0 || !yield(f) {
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
