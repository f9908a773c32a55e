package plan

import (
	"slices"

	"millrace/loaders/spec"
)

// ParsingSuffices reports whether parsing alone gives the plan's tensors, and
// which of the sorted features each of them is. For that tf.data has a stage of
// its own, which needs no function call. TensorFlow's parser leaves the bytes of
// raw features as they are; rawDecoded says that the parser is one of Millrace's
// own operations, which decode them.
func (p *Plan) ParsingSuffices(rawDecoded bool) (order []int, ok bool) {
	if p.Padding != nil {
		return nil, false
	}
	return p.ParsedOrder(rawDecoded)
}

// ParsedOrder is ParsingSuffices for tensors that may still be padded afterwards.
func (p *Plan) ParsedOrder(rawDecoded bool) (order []int, ok bool) {
	if len(p.Secondaries)+len(p.Measures) > 0 || len(p.Steps) > 0 {
		return nil, false
	}
	features := p.SortedFeatures()
	for _, f := range features {
		if f.Kind == spec.Raw && !rawDecoded || f.Kind != spec.Raw && f.DType != f.StoredType() {
			return nil, false
		}
	}
	for _, primary := range p.Primaries {
		order = append(order, slices.Index(features, primary.From))
	}
	return order, true
}
