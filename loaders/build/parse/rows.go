package parse

import (
	"fmt"

	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Records parses a vector of serialized records at once. It returns a
// column of each sorted feature, decoded: a ragged one of a VarLen feature.
func (p *Parser) Records(s *graph.Scope, serialized tfbridge.Output) []column.Column {
	return p.DecodeColumns(s, p.Stored(s, serialized))
}

// DecodeColumns decodes the stored values of the sorted features to their tensors.
func (p *Parser) DecodeColumns(s *graph.Scope, stored []column.Column) []column.Column {
	features := p.Parse.Features
	columns := make([]column.Column, len(stored))
	for i, c := range stored {
		lead := []int64{-1}
		if c.Ragged() {
			lead = nil // its shape has an axis for the joined elements
		}
		columns[i] = column.Column{Values: p.decode(s, features[i], c.Values, lead), Splits: c.Splits}
	}
	return columns
}

// Stored parses records to their stored values.
func (p *Parser) Stored(s *graph.Scope, serialized tfbridge.Output) []column.Column {
	switch {
	case p.Engine.Own:
		return p.nativeRows(s, serialized)
	case !p.Parse.SequenceExamples:
		parsed := graph.ParseExampleV2(s, serialized, p.ExampleFeatures())
		return p.inOrder(parsed.Dense, func(f *spec.Feature, i int) column.Column {
			return variableColumn(s, f, parsed.Ragged[i])
		})
	}
	parsed := graph.ParseSequenceExampleV2(s, serialized, p.sequenceFeatures())
	return p.inOrder(parsed.Context.Dense, func(f *spec.Feature, i int) column.Column {
		return joinList(s, parsed.Lists[i], parsed.Lengths[i], f.StoredShape())
	})
}

// nativeRows parses records with our own operations, which decode raw features
// as well. TensorFlow's parsers never see the bytes of a file then.
func (p *Parser) nativeRows(s *graph.Scope, serialized tfbridge.Output) []column.Column {
	o := p.Located(s)
	if p.Parse.Lists {
		return p.ColumnsOf(native.DecodeSequences(s, serialized, p.Native(p.NativeColumns()), &o))
	}
	return p.ColumnsOf(native.Decode(s, serialized, p.NativeFeatures(), &o))
}

// inOrder puts features of fixed size and VarLen ones, which are parsed separately,
// into the order of the sorted features. list makes the column of a VarLen feature,
// given its index among the VarLen features.
func (p *Parser) inOrder(dense []tfbridge.Output, list func(f *spec.Feature, i int) column.Column) []column.Column {
	var columns []column.Column
	lists := 0
	for _, f := range p.Parse.Features {
		if f.VarLen {
			columns = append(columns, list(f, lists))
			lists++
			continue
		}
		columns = append(columns, column.Column{Values: dense[0]})
		dense = dense[1:]
	}
	return columns
}

// variableColumn makes the elements of a VarLen feature of Examples from its stored
// values.
func variableColumn(s *graph.Scope, f *spec.Feature, x graph.RaggedTensor) column.Column {
	each := spec.NumElements(f.Shape)
	if len(f.Shape) == 0 {
		return column.Column{Values: x.Values, Splits: x.RowSplits}
	}
	size := s.Const(each)
	whole := graph.ReduceAll(s, graph.Equal(s, graph.FloorMod(s, x.RowSplits, size), s.Const(int64(0))))
	message := fmt.Sprintf("feature %s: the values of a record are no multiple of %d", f.Name, each)
	s = s.WithControlDependencies(graph.Assert(s, whole, []tfbridge.Output{s.Const(message)}, nil))
	splits := graph.FloorDiv(s, x.RowSplits, size)
	elements := graph.Subscript(s, splits, graph.At(-1))
	return column.Column{Values: column.ReshapeRows(s, x.Values, f.Shape, elements), Splits: splits}
}

// joinList joins the feature lists of several records, which come padded to
// the longest.
func joinList(s *graph.Scope, padded, lengths tfbridge.Output, element []int64) column.Column {
	shape := graph.Shape(s, padded)
	rows := graph.Subscript(s, shape, graph.At(0))
	longest := graph.Subscript(s, shape, graph.At(1))
	all := column.Column{Values: column.ReshapeRows(s, padded, element, graph.Mul(s, rows, longest))}
	starts := graph.Mul(s, graph.Range(s, s.Const(int64(0)), rows, s.Const(int64(1))), longest)
	return all.Take(s, starts, graph.Add(s, starts, lengths))
}

// sequenceFeatures requests the features, each once, all required.
func (p *Parser) sequenceFeatures() *graph.SequenceFeatures {
	wanted := &graph.SequenceFeatures{}
	for _, f := range p.Parse.Features {
		d := denseFeature(f)
		if f.VarLen {
			wanted.Lists = append(wanted.Lists, graph.ListFeature{Key: d.Key, DType: d.DType, Shape: d.Shape})
		} else {
			wanted.Context.Dense = append(wanted.Context.Dense, d)
		}
	}
	return wanted
}
