package parse

import (
	"millrace/graph/dataset/native"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// NativeFeatures requests the features from the native operations.
func (p *Parser) NativeFeatures() []native.Feature {
	kinds := map[spec.Kind]native.Kind{
		spec.Int: native.Int, spec.Float: native.Float, spec.String: native.Bytes, spec.Raw: native.Raw,
	}
	var features []native.Feature
	for _, f := range p.Parse.Features {
		feature := native.Feature{
			Key: f.Name, Kind: kinds[f.Kind], DType: f.DType, Shape: f.TensorShape(),
			Strings: f.Len, BigEndian: f.Endian == "big", List: f.VarLen, Optional: f.Optional,
			Finite: f.Finite && p.Engine.ChecksNatively(),
		}
		if f.VarLen {
			feature.Shape = f.Shape
		}
		features = append(features, feature)
	}
	return features
}

// Native requests components of records with lists from the native operations.
func (p *Parser) Native(components []native.Component) *native.Sequence {
	return &native.Sequence{Examples: !p.Parse.SequenceExamples, Features: p.NativeFeatures(), Components: components}
}

// NativeColumns requests columns of the sorted features from the native operation.
func (p *Parser) NativeColumns() []native.Component {
	var components []native.Component
	for i, f := range p.Parse.Features {
		components = append(components, native.Component{Feature: i, Part: native.Values, Size: -1})
		if f.VarLen {
			components = append(components, native.Component{Feature: i, Part: native.Splits, Size: -1})
		}
	}
	return components
}

// ColumnsOf returns the columns of the sorted features, given the results of
// [Parser.NativeColumns].
func (p *Parser) ColumnsOf(components []tfbridge.Output) []column.Column {
	var columns []column.Column
	for _, f := range p.Parse.Features {
		if len(components) == 0 {
			return nil // the scope has failed
		}
		c := column.Column{Values: components[0]}
		components = components[1:]
		if f.VarLen && len(components) > 0 {
			c.Splits, components = components[0], components[1:]
		}
		columns = append(columns, c)
	}
	return columns
}
