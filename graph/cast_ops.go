package graph

import (
	"millrace/tfbridge"
)

// Cast adds a Cast, unless x is of the type already. Numbers are truncated and wrapped
// as in TensorFlow. Strings cannot be cast.
func Cast(s *Scope, x tfbridge.Output, to tfbridge.DataType) tfbridge.Output {
	if SpecOf(x).DType == to {
		return x
	}
	return s.Op1("Cast", map[string]any{"DstT": to}, x)
}

// Bitcast adds a Bitcast: the same bytes as another type. Casting to a smaller type
// adds a last dimension; casting to a larger type removes it.
func Bitcast(s *Scope, x tfbridge.Output, to tfbridge.DataType) tfbridge.Output {
	return s.Op1("Bitcast", map[string]any{"type": to}, x)
}

// DecodeRawOptions are the options of [DecodeRaw].
type DecodeRawOptions struct {
	BigEndian bool // the bytes are in big-endian order; default little-endian
}

// DecodeRaw adds a DecodeRaw: the bytes of each string as numbers, in a new
// last dimension. All strings must be of one length. TensorFlow's kernel takes
// no uint32 and uint64: decode the signed type and [Bitcast].
func DecodeRaw(s *Scope, bytes tfbridge.Output, out tfbridge.DataType, o *DecodeRawOptions) tfbridge.Output {
	if o == nil {
		o = &DecodeRawOptions{}
	}
	return s.Op1("DecodeRaw", map[string]any{"out_type": out, "little_endian": !o.BigEndian}, bytes)
}
