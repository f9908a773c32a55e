package windows

import (
	"slices"

	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// assembleRagged makes a batch's tensors of the ragged rows of the features, which are
// vectors of variants.
func (b *Builder) assembleRagged(s *graph.Scope, rows []tfbridge.Output) []tfbridge.Output {
	return b.blocks.processor.Assemble(s, rowColumns(s, b.Parse.Features, rows, func(x tfbridge.Output) tfbridge.Output { return x }))
}

// rowColumns returns the columns of the sorted features, and of the lengths of records that
// are measured, given the variants of an element and a function that makes vectors of them.
func rowColumns(s *graph.Scope, features []*spec.Feature, rows []tfbridge.Output, vector func(tfbridge.Output) tfbridge.Output) []column.Column {
	columns := make([]column.Column, len(features), len(rows))
	for i, f := range features {
		columns[i] = raggedFeature(s, f, vector(rows[i]))
	}
	for _, row := range rows[min(len(features), len(rows)):] {
		x := graph.RaggedTensorFromVariant(s, vector(row), graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
		columns = append(columns, column.Column{Values: x.Values, Splits: x.RowSplits})
	}
	return columns
}

// raggedFeature returns the column of a feature, given a vector of variants.
func raggedFeature(s *graph.Scope, f *spec.Feature, rows tfbridge.Output) column.Column {
	dims := slices.Clone(f.TensorShape())
	dims[0] = -1
	x := graph.RaggedTensorFromVariant(s, rows, graph.Spec{DType: f.DType, Shape: tfbridge.MakeShape(dims...)})
	return column.Column{Values: x.Values, Splits: x.RowSplits}
}

// length measures the tensor of a window that chooses its bucket, after the processing
// steps.
func (b *Builder) length(s *graph.Scope, rows []tfbridge.Output) tfbridge.Output {
	bucket, _ := stage.Find[stage.Bucket](b.Stages)
	var features []column.Column
	for i, f := range b.Parse.Features {
		features = append(features, raggedFeature(s, f, graph.Reshape(s, rows[i], s.Const([]int64{1}))))
	}
	columns := b.blocks.processor.Columns(features)
	b.blocks.processor.Ragged(s, columns, func(x stage.Stage) bool {
		_, constant := x.(stage.Constant)
		_, step := x.(stage.Step)
		return constant || step
	})
	return graph.Subscript(s, columns[bucket.Tensor].Sizes(s, bucket.Axis), graph.At(0))
}

// recordMeasures returns the measures of the records of windows.
func recordMeasures(list []stage.Stage) []stage.Measure {
	return slices.DeleteFunc(stage.All[stage.Measure](list), func(m stage.Measure) bool { return !m.Records })
}
