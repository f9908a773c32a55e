package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// parseBatches parses batches of serialized Examples.
func (b *builder) parseBatches(d *dataset.Dataset) *dataset.Dataset {
	if order, ok := b.plan.Engine().ParsingSuffices(false); ok {
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

// exampleFeatures asks for the requested features, each once. Those of one size
// are required. A VarLen feature that a record lacks is empty to TensorFlow;
// [check.Judge] refuses such a record where the feature is not optional.
func (b *builder) exampleFeatures() *graph.ExampleFeatures {
	features := &graph.ExampleFeatures{}
	for _, f := range b.plan.SortedFeatures() {
		if f.VarLen {
			features.Ragged = append(features.Ragged, graph.RaggedFeature{Key: f.Name, DType: f.StoredType()})
			continue
		}
		features.Dense = append(features.Dense, denseFeature(f))
	}
	return features
}

// parseRecord parses one serialized record.
func (b *builder) parseRecord(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	if b.plan.Engine().Own || !b.plan.Manifest.AllowVarLen {
		return b.finish(s, b.oneRow(s, args[0]), nil)
	}
	parsed := graph.ParseSingleSequenceExample(s, args[0], b.sequenceFeatures())
	columns := b.inOrder(parsed.Context.Dense, func(_ *spec.Feature, i int) column { return column{values: parsed.Lists[i]} })
	var stored []tfbridge.Output
	for _, c := range columns {
		stored = append(stored, c.values)
	}
	return b.finish(s, stored, nil)
}

// oneRow parses one serialized record as a batch of one.
func (b *builder) oneRow(s *graph.Scope, serialized tfbridge.Output) []tfbridge.Output {
	var row []tfbridge.Output
	for _, c := range b.storedRows(s, graph.ExpandDims(s, serialized, 0)) {
		if !c.ragged() {
			c.values = graph.Subscript(s, c.values, graph.At(0))
		}
		row = append(row, c.values)
	}
	return row
}

// denseFeature asks a parser for a feature.
func denseFeature(f *spec.Feature) graph.DenseFeature {
	return graph.DenseFeature{Key: f.Name, DType: f.StoredType(), Shape: tfbridge.MakeShape(f.StoredShape()...)}
}
