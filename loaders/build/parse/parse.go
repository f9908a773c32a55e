// Package parse adds the operations that parse serialized records and decode their
// features, Millrace's own or TensorFlow's.
//
//	features := parse.New(t).Records(s, serialized)
package parse

import (
	"millrace/graph"
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
