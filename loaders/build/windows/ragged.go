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
	columns := make([]column.Column, len(b.Parse.Features), len(rows))
	for i, f := range b.Parse.Features {
		columns[i] = raggedFeature(s, f, rows[i])
	}
	for _, row := range rows[min(len(b.Parse.Features), len(rows)):] {
		x := graph.RaggedTensorFromVariant(s, row, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
		columns = append(columns, column.Column{Values: x.Values, Splits: x.RowSplits})
	}
	return b.blocks.processor.Assemble(s, columns)
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
	i := b.Parse.IndexOf(bucket.Tensor)
	row := raggedFeature(s, b.Parse.Features[i], graph.Reshape(s, rows[i], s.Const([]int64{1})))
	columns := map[string]column.Column{bucket.Tensor: row}
	b.blocks.processor.Ragged(s, columns, func(x stage.Stage) bool {
		step, ok := x.(stage.Step)
		return ok && step.Changes() == bucket.Tensor
	})
	return graph.Subscript(s, columns[bucket.Tensor].Sizes(s, bucket.Axis), graph.At(0))
}

// recordMeasures returns the measures of the records of windows.
func recordMeasures(list []stage.Stage) []stage.Measure {
	return slices.DeleteFunc(stage.All[stage.Measure](list), func(m stage.Measure) bool { return !m.Records })
}
