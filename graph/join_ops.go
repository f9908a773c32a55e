package graph

import (
	"math"

	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// ConcatV2 adds a ConcatV2 of tensors along an axis. One tensor is returned as
// it is, for the operation takes two at least.
func ConcatV2(s *Scope, values []tfbridge.Output, axis int64) tfbridge.Output {
	if len(values) == 1 {
		return values[0]
	}
	return s.Op1("ConcatV2", nil, tfbridge.OutputList(values), s.Const(axis))
}

// Pack adds a Pack: tensors of one shape stacked along a new axis.
func Pack(s *Scope, values []tfbridge.Output, axis int64) tfbridge.Output {
	return s.Op1("Pack", map[string]any{"axis": axis}, tfbridge.OutputList(values))
}

// Unpack adds an Unpack: the n slices of x along an axis. It returns n outputs even
// after a failure, or 1024 if n is negative or larger than TensorFlow allows.
func Unpack(s *Scope, x tfbridge.Output, n int, axis int64) []tfbridge.Output {
	if n < 0 || n > math.MaxUint16 {
		s.fail("Unpack", "%d outputs; there may be from 0 to %d", n, math.MaxUint16)
		return unbuilt.Outputs(unbuilt.Many)
	}
	outputs := make([]tfbridge.Output, n)
	copy(outputs, s.Op("Unpack", map[string]any{"num": int64(n), "axis": axis}, x))
	return outputs
}

// PadV2 adds a PadV2. The rows of paddings, one for each dimension, hold how
// much goes before and after.
func PadV2(s *Scope, x, paddings, value tfbridge.Output) tfbridge.Output {
	return s.Op1("PadV2", nil, x, paddings, value)
}

// GatherV2 adds a GatherV2: the slices of x at indices along an axis.
func GatherV2(s *Scope, x, indices tfbridge.Output, axis int64) tfbridge.Output {
	return s.Op1("GatherV2", nil, x, indices, s.Const(axis))
}
