// Package parse adds the operations that parse serialized records and decode their
// features, Millrace's own or TensorFlow's.
//
//	features := parse.New(t).Records(s, serialized)
package parse

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Parser makes tensors of serialized records: values of the features in the order of
// [stage.Parse].
type Parser struct{ *target.Target }

// New returns a Parser for the records of t.
func New(t *target.Target) *Parser { return &Parser{t} }

// ExampleFeatures requests the features, each once. Those of fixed size are required.
// For TensorFlow a VarLen feature that a record lacks is empty; [check.Checker] refuses
// such a record if the feature is not optional.
func (p *Parser) ExampleFeatures() *graph.ExampleFeatures {
	features := &graph.ExampleFeatures{}
	for _, f := range p.Parse.Features {
		if f.VarLen {
			features.Ragged = append(features.Ragged, graph.RaggedFeature{Key: f.Name, DType: f.StoredType()})
			continue
		}
		features.Dense = append(features.Dense, denseFeature(f))
	}
	return features
}

// denseFeature requests a feature from a parser.
func denseFeature(f *spec.Feature) graph.DenseFeature {
	return graph.DenseFeature{Key: f.Name, DType: f.StoredType(), Shape: tfbridge.MakeShape(f.StoredShape()...)}
}

// Record parses and decodes one serialized record.
func (p *Parser) Record(s *graph.Scope, serialized tfbridge.Output) []tfbridge.Output {
	if p.Engine.Own || !p.Parse.SequenceExamples {
		return p.Decode(s, p.oneRow(s, serialized), nil)
	}
	parsed := graph.ParseSingleSequenceExample(s, serialized, p.sequenceFeatures())
	columns := p.inOrder(parsed.Context.Dense, func(_ *spec.Feature, i int) column.Column { return column.Column{Values: parsed.Lists[i]} })
	var stored []tfbridge.Output
	for _, c := range columns {
		stored = append(stored, c.Values)
	}
	return p.Decode(s, stored, nil)
}

// oneRow parses one serialized record as a batch of one.
func (p *Parser) oneRow(s *graph.Scope, serialized tfbridge.Output) []tfbridge.Output {
	var row []tfbridge.Output
	for _, c := range p.Stored(s, graph.ExpandDims(s, serialized, 0)) {
		if !c.Ragged() {
			c.Values = graph.Subscript(s, c.Values, graph.At(0))
		}
		row = append(row, c.Values)
	}
	return row
}
