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

// StringJoin adds a StringJoin, element by element.
func StringJoin(s *Scope, separator string, inputs ...tfbridge.Output) tfbridge.Output {
	return s.Op1("StringJoin", map[string]any{"separator": separator}, tfbridge.OutputList(inputs))
}

// StringLength adds a StringLength: the number of bytes as int32.
func StringLength(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("StringLength", nil, x)
}

// AsString adds an AsString: numbers as text.
func AsString(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("AsString", nil, x)
}

// Substr adds a Substr of bytes.
func Substr(s *Scope, x, pos, length tfbridge.Output) tfbridge.Output {
	return s.Op1("Substr", nil, x, pos, length)
}

// SerializeTensor adds a SerializeTensor: a tensor as one string.
func SerializeTensor(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("SerializeTensor", nil, x)
}

// ParseTensor adds a ParseTensor, the reverse of [SerializeTensor].
func ParseTensor(s *Scope, serialized tfbridge.Output, out tfbridge.DataType) tfbridge.Output {
	return s.Op1("ParseTensor", map[string]any{"out_type": out}, serialized)
}
