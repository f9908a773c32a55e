package graph

import (
	"millrace/tfbridge"
)

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
