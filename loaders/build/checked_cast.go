package build

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// checkedCast casts and asserts that nothing was lost: the value cast back is
// the value (or both are NaN), and no sign was dropped. The message names the
// feature; the record is found afterwards.
func (b *builder) checkedCast(s *graph.Scope, f *spec.Feature, x tfbridge.Output) tfbridge.Output {
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
