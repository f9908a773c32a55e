package parse

import (
	"millrace/graph"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Decode makes the features' tensors of their stored values. lead is the shape in front of
// each tensor's own: none for one record, the batch dimension for a batch of them.
func (p *Parser) Decode(s *graph.Scope, stored []tfbridge.Output, lead []int64) []tfbridge.Output {
	if len(stored) != len(p.Parse.Features) {
		return nil // the scope holds the failure
	}
	decoded := make([]tfbridge.Output, len(stored))
	for i, f := range p.Parse.Features {
		decoded[i] = p.decode(s, f, stored[i], lead)
	}
	return decoded
}

// decode turns a feature's stored values into its tensor.
func (p *Parser) decode(s *graph.Scope, f *spec.Feature, x tfbridge.Output, lead []int64) tfbridge.Output {
	if f.Kind == spec.Raw && p.Engine.Own {
		return x
	}
	if f.Kind == spec.Raw {
		return p.decodeRaw(s, f, x, lead)
	}
	if f.DType == f.StoredType() {
		return x
	}
	if f.CheckedCast {
		return p.checkedCast(s, f, x)
	}
	return graph.Cast(s, x, f.DType)
}

// decodeRaw decodes byte strings to [...] + the feature's shape. The shape is complete:
// with a -1, strings of twice the length would be accepted as twice as many strings.
func (p *Parser) decodeRaw(s *graph.Scope, f *spec.Feature, x tfbridge.Output, lead []int64) tfbridge.Output {
	as := f.DType
	switch f.DType { // DecodeRaw has no unsigned kernels of these sizes
	case tfbridge.Uint32:
		as = tfbridge.Int32
	case tfbridge.Uint64:
		as = tfbridge.Int64
	}
	flat := graph.DecodeRaw(s, x, as, &graph.DecodeRawOptions{BigEndian: f.Endian == "big"})
	if as != f.DType {
		flat = graph.Bitcast(s, flat, f.DType)
	}
	shape := graph.ConcatV2(s, []tfbridge.Output{graph.Shape(s, x), s.Const(target.Int64Vector(f.Shape))}, 0)
	full := graph.Reshape(s, flat, shape)
	return graph.EnsureShape(s, full, target.ElementShape(lead, f.TensorShape()))
}

// checkedCast casts and asserts that nothing was lost: the value cast back is
// the value (or both are NaN), and no sign was dropped. The message names the
// feature; the record is found afterwards.
func (p *Parser) checkedCast(s *graph.Scope, f *spec.Feature, x tfbridge.Output) tfbridge.Output {
	y := graph.Cast(s, x, f.DType)
	back := graph.Cast(s, y, f.StoredType())
	same := graph.Equal(s, back, x)
	if f.Kind == spec.Float {
		same = graph.LogicalOr(s, same, graph.LogicalAnd(s, graph.NotEqual(s, x, x), graph.NotEqual(s, back, back)))
	}
	if spec.IsUnsigned(f.DType) {
		same = graph.LogicalAnd(s, same, graph.GreaterEqual(s, x, s.Zeros(f.StoredType())))
	}
	message := s.Const("feature " + f.Name + ": a value does not fit " + f.DType.String())
	assert := graph.Assert(s, graph.ReduceAll(s, same), []tfbridge.Output{message}, nil)
	return graph.Identity(s.WithControlDependencies(assert), y)
}
