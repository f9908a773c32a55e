package loaders

import (
	"maps"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// stored returns the dtype that a feature has in a record.
func (f *Feature) stored() tfbridge.DataType {
	switch f.Kind {
	case Int:
		return tfbridge.Int64
	case Float:
		return tfbridge.Float
	default:
		return tfbridge.String
	}
}

// storedShape returns the shape of a feature's list in a record (of one
// element of a feature list), before raw bytes are decoded.
func (f *Feature) storedShape() []int64 {
	switch {
	case f.Kind != Raw:
		return f.Shape
	case f.Len > 1 && !f.VarLen:
		return []int64{f.Len}
	default:
		return []int64{}
	}
}

// sortedFeatures returns the requested features by name, which is the order
// in which TensorFlow's parsers give their outputs.
func (p *Plan) sortedFeatures() []*Feature {
	byName := map[string]*Feature{}
	for _, f := range p.Features {
		byName[f.Name] = f
	}
	sorted := make([]*Feature, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sorted = append(sorted, byName[name])
	}
	return sorted
}

// parseBatches parses batches of serialized Examples.
func (b *builder) parseBatches(d *dataset.Dataset) *dataset.Dataset {
	if order, ok := b.plan.direct(false); ok {
		b.order = order
		return d.ParseExample(b.exampleFeatures(), &dataset.ParseExampleOptions{
			Parallel: b.plan.ParallelParses,
			Sloppy:   b.plan.Sloppy,
		})
	}
	return d.Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		parsed := graph.ParseExampleV2(s, args[0], b.exampleFeatures())
		return b.finish(s, parsed.Dense, []int64{-1})
	}, b.mapOptions())
}

// direct reports whether parsing alone gives the plan's tensors, and which
// parsed feature each of them is. tf.data then has a stage of its own for it,
// which needs no function call. Our own operations decode raw features too.
func (p *Plan) direct(decodedRaw bool) (order []int, ok bool) {
	if p.Padding != nil {
		return nil, false
	}
	return p.unpadded(decodedRaw)
}

// unpadded is direct whatever is padded afterwards.
func (p *Plan) unpadded(decodedRaw bool) (order []int, ok bool) {
	if len(p.Secondaries)+len(p.Measures) > 0 || len(p.Steps) > 0 {
		return nil, false
	}
	features := p.sortedFeatures()
	for _, f := range features {
		if f.Kind == Raw && !decodedRaw || f.Kind != Raw && f.DType != f.stored() {
			return nil, false
		}
	}
	for _, primary := range p.Primaries {
		order = append(order, slices.Index(features, primary.From))
	}
	return order, true
}

// dense asks a parser for a feature.
func (f *Feature) dense() graph.DenseFeature {
	return graph.DenseFeature{Key: f.Name, DType: f.stored(), Shape: tfbridge.MakeShape(f.storedShape()...)}
}

// exampleFeatures asks for the requested features, each once, all required.
func (b *builder) exampleFeatures() *graph.ExampleFeatures {
	features := &graph.ExampleFeatures{}
	for _, f := range b.plan.sortedFeatures() {
		features.Dense = append(features.Dense, f.dense())
	}
	return features
}

// parseRecord parses one serialized SequenceExample.
func (b *builder) parseRecord(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	parsed := graph.ParseSingleSequenceExample(s, args[0], b.sequenceFeatures())
	columns := b.inOrder(parsed, func(_ *Feature, i int) column { return column{values: parsed.Lists[i]} })
	var stored []tfbridge.Output
	for _, c := range columns {
		stored = append(stored, c.values)
	}
	return b.finish(s, stored, nil)
}
