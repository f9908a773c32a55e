package engine

import (
	"slices"

	"millrace/loaders/processing/tensors"
	"millrace/loaders/spec"
)

// NativeTensors reports whether the native operation for records with lists makes the
// plan's tensors, padded as the config says, so that no further stage is needed.
func (c Choice) NativeTensors() bool {
	if len(c.Secondaries) > 0 || len(c.Steps) > 0 && !cutsLists(c) {
		return false
	}
	for _, f := range c.Features {
		if f.VarLen && c.Examples().Padding == nil || f.Kind != spec.Raw && f.DType != f.StoredType() {
			return false
		}
	}
	for _, m := range c.Measures {
		if m.Kind != spec.ElementCount && (m.Axis != 0 || !c.FeatureOf(m.Tensor).VarLen) {
			return false
		}
	}
	examples := c.Examples()
	for i, pad := range examples.Padding {
		for axis, n := range examples.Tensors[i].Shape {
			if n >= 0 && pad.Shape[axis] > n {
				return false // only the length of a list is padded natively
			}
		}
	}
	return true
}

// cutsLists reports whether all steps take the first elements of lists, each of another one.
func cutsLists(c Choice) bool {
	cut := map[string]bool{}
	for _, s := range c.Steps {
		part, ok := s.Action.(*tensors.Slice)
		if !ok || part.First() == 0 || s.Reads[0] != s.Writes || cut[s.Writes] {
			return false
		}
		if i := slices.IndexFunc(c.Primaries, func(p spec.Primary) bool { return p.To == s.Writes }); i < 0 || !c.Primaries[i].From.VarLen {
			return false
		}
		cut[s.Writes] = true
	}
	return c.Bucket == nil // buckets have the lengths of the stored lists
}

// ParsingSuffices reports whether parsing alone gives the plan's tensors, and which of
// the sorted features each tensor is. For such plans tf.data has its own stage, which
// needs no function call. TensorFlow's parser leaves the bytes of raw features as they
// are. rawDecoded says that the parser is one of Millrace's own operations, which
// decode them.
func (c Choice) ParsingSuffices(rawDecoded bool) (order []int, ok bool) {
	if c.Examples().Padding != nil {
		return nil, false
	}
	return c.ParsedOrder(rawDecoded)
}

// ParsedOrder is ParsingSuffices for tensors that may still be padded afterwards.
func (c Choice) ParsedOrder(rawDecoded bool) (order []int, ok bool) {
	if len(c.Secondaries)+len(c.Measures) > 0 || len(c.Steps) > 0 {
		return nil, false
	}
	features := c.SortedFeatures()
	for _, f := range features {
		if f.Kind == spec.Raw && !rawDecoded || f.Kind != spec.Raw && f.DType != f.StoredType() {
			return nil, false
		}
	}
	for _, primary := range c.Primaries {
		order = append(order, slices.Index(features, primary.From))
	}
	return order, true
}

// EqualWindows reports whether all windows have one shape.
func (c Choice) EqualWindows() bool {
	if c.Window.Min != c.Window.Max {
		return false
	}
	return c.Window.Unit == spec.Positions || !slices.ContainsFunc(c.Features, func(f *spec.Feature) bool {
		return f.VarLen || f.TensorShape()[0] > spec.MaxDimension/c.Window.Min
	})
}

// JoinsWindows reports whether our own operation joins the windows of a batch end to
// end, as ragged rows: where they differ in size, and padding is not the only further
// stage.
func (c Choice) JoinsWindows() bool {
	_, direct := c.ParsedOrder(true)
	return !c.EqualWindows() && (!direct || c.Window.Min == c.Window.Max)
}
