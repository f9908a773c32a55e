package plan

import (
	"slices"

	"millrace/loaders/spec"
)

// ParsingSuffices reports whether parsing alone gives the plan's tensors, and which
// parsed feature each of them is. tf.data then has a stage of its own for it,
// which needs no function call. Our own operations decode raw features too.
func (p *Plan) ParsingSuffices(decodedRaw bool) (order []int, ok bool) {
	if p.Padding != nil {
		return nil, false
	}
	return p.ParsedOrder(decodedRaw)
}

// ParsedOrder is direct whatever is padded afterwards.
func (p *Plan) ParsedOrder(decodedRaw bool) (order []int, ok bool) {
	if len(p.Secondaries)+len(p.Measures) > 0 || len(p.Steps) > 0 {
		return nil, false
	}
	features := p.SortedFeatures()
	for _, f := range features {
		if f.Kind == spec.Raw && !decodedRaw || f.Kind != spec.Raw && f.DType != f.StoredType() {
			return nil, false
		}
	}
	for _, primary := range p.Primaries {
		order = append(order, slices.Index(features, primary.From))
	}
	return order, true
}

// HasEmptyElements reports whether a feature list has elements without values.
// ParseSequenceExampleV2 divides by their number, which ends the process.
func (p *Plan) HasEmptyElements() bool {
	for _, f := range p.Features {
		if f.VarLen && spec.NumElements(f.StoredShape()) == 0 {
			return true
		}
	}
	return false
}
