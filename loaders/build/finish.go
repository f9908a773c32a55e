package build

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// finish turns the stored values of the sorted features into the plan's
// tensors: decoding and casting, then constants, then processing steps, then
// lengths and masks. lead is what stands before each tensor's own shape: nothing for one
// record, the batch dimension for a batch of them. Every stage works on both.
func (b *builder) finish(s *graph.Scope, stored []tfbridge.Output, lead []int64) []tfbridge.Output {
	features := b.plan.SortedFeatures()
	if len(stored) != len(features) {
		return nil // the scope holds the failure
	}
	decoded := make([]tfbridge.Output, len(features))
	for i, f := range features {
		decoded[i] = b.decode(s, f, stored[i], lead)
	}
	return b.derive(s, decoded, lead)
}

// derive makes the plan's tensors of the decoded sorted features.
func (b *builder) derive(s *graph.Scope, decoded []tfbridge.Output, lead []int64) []tfbridge.Output {
	features := b.plan.SortedFeatures()
	values := make(map[string]tfbridge.Output, len(b.plan.Tensors))
	for _, primary := range b.plan.Primaries {
		values[primary.To] = graph.Identity(s, decoded[slices.Index(features, primary.From)])
	}
	b.addSecondaries(s, values, len(lead))
	b.runSteps(s, values, len(lead))
	b.addMeasures(s, values, len(lead))
	if len(lead) > 0 && b.plan.Padding != nil {
		b.padStatic(s, values)
	}
	out := make([]tfbridge.Output, len(b.plan.Tensors))
	for i, t := range b.plan.Tensors {
		out[i] = values[t.Name]
	}
	return out
}

// decode turns a feature's stored values into its tensor.
func (b *builder) decode(s *graph.Scope, f *spec.Feature, x tfbridge.Output, lead []int64) tfbridge.Output {
	if f.Kind == spec.Raw && b.plan.Engine().Own {
		return x
	}
	if f.Kind == spec.Raw {
		return b.decodeRaw(s, f, x, lead)
	}
	if f.DType == f.StoredType() {
		return x
	}
	if f.CheckedCast {
		return b.checkedCast(s, f, x)
	}
	return graph.Cast(s, x, f.DType)
}

// decodeRaw decodes byte strings to [...] + the feature's shape. The shape is
// given in full: with a -1, strings of twice the length would pass for twice
// as many strings.
func (b *builder) decodeRaw(s *graph.Scope, f *spec.Feature, x tfbridge.Output, lead []int64) tfbridge.Output {
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
	shape := graph.ConcatV2(s, []tfbridge.Output{graph.Shape(s, x), s.Const(int64Vector(f.Shape))}, 0)
	full := graph.Reshape(s, flat, shape)
	return graph.EnsureShape(s, full, elementShape(lead, f.TensorShape()))
}

// addSecondaries adds the constants. Shapes are copied from primaries as they
// are before any step.
func (b *builder) addSecondaries(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	for _, c := range b.plan.Secondaries {
		shape := s.Const(int64Vector(c.Shape))
		if c.ShapeFrom != "" {
			shape = graph.Shape(s, values[c.ShapeFrom])
		} else if lead > 0 {
			batch := graph.Subscript(s, graph.Shape(s, values[b.plan.Primaries[0].To]), graph.Until(int64(lead)))
			shape = graph.ConcatV2(s, []tfbridge.Output{batch, shape}, 0)
		}
		values[c.To] = graph.Fill(s, shape, b.constant(s, c.Value, c.DType))
	}
}

// runSteps runs the processing steps in the order they are listed.
func (b *builder) runSteps(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	for _, step := range b.plan.Steps {
		indices := make([]graph.Index, lead, lead+len(step.Indices)) // the zero Index is a whole dimension
		for _, i := range step.Indices {
			indices = append(indices, graph.Index{Single: i.Single, Begin: i.Begin, End: i.End})
		}
		values[step.Tensor] = graph.Subscript(s, values[step.Tensor], indices...)
	}
}

// padStatic pads a batch whose shapes are known: after each axis up to the
// padded shape.
func (b *builder) padStatic(s *graph.Scope, values map[string]tfbridge.Output) {
	for i, t := range b.plan.Tensors {
		values[t.Name] = b.padAxes(s, values[t.Name], i, 0)
	}
}

// padAxes pads the axes of tensor i from the given one on, whose sizes are
// known. In x one more axis stands in front of those.
func (b *builder) padAxes(s *graph.Scope, x tfbridge.Output, i, from int) tfbridge.Output {
	return b.padAxesBehind(s, x, i, from, 1)
}

// padAxesBehind is padAxes with so many axes in front of those that are padded.
func (b *builder) padAxesBehind(s *graph.Scope, x tfbridge.Output, i, from, front int) tfbridge.Output {
	t, pad := b.plan.Tensors[i], b.plan.Padding[i]
	after := make([][]int32, front, len(t.Shape)+front)
	for axis := range after {
		after[axis] = []int32{0, 0}
	}
	padded := false
	for axis, n := range t.Shape[from:] {
		extra := int32(0)
		if to := pad.Shape[from+axis]; to >= 0 {
			extra = int32(to - n)
		}
		after = append(after, []int32{0, extra})
		padded = padded || extra > 0
	}
	if !padded {
		return x
	}
	return graph.PadV2(s, x, s.Const(after), b.constant(s, pad.Value, t.DType))
}

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
