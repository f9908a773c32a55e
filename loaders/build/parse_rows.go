package build

import (
	"fmt"

	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// parseRecords parses a vector of serialized records at once. It returns a
// column of each sorted feature, decoded: a ragged one of a VarLen feature.
func (b *builder) parseRecords(s *graph.Scope, serialized tfbridge.Output) []column {
	return b.decodeColumns(s, b.storedRows(s, serialized))
}

// decodeColumns turns what records store of the sorted features into their
// tensors.
func (b *builder) decodeColumns(s *graph.Scope, stored []column) []column {
	features := b.plan.SortedFeatures()
	columns := make([]column, len(stored))
	for i, c := range stored {
		lead := []int64{-1}
		if c.ragged() {
			lead = nil // its shape has an axis for the joined elements
		}
		columns[i] = column{values: b.decode(s, features[i], c.values, lead), splits: c.splits}
	}
	return columns
}

// parseLists parses a batch of serialized records with lists to the plan's
// tensors.
func (b *builder) parseLists(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	return b.assemble(s, b.parseRecords(s, args[0]))
}

// storedRows parses records to what they store.
func (b *builder) storedRows(s *graph.Scope, serialized tfbridge.Output) []column {
	switch {
	case b.plan.Engine().Own:
		return b.nativeRows(s, serialized)
	case !b.plan.Manifest.AllowVarLen:
		parsed := graph.ParseExampleV2(s, serialized, b.exampleFeatures())
		return b.inOrder(parsed.Dense, func(f *spec.Feature, i int) column {
			return variableColumn(s, f, parsed.Ragged[i])
		})
	}
	parsed := graph.ParseSequenceExampleV2(s, serialized, b.sequenceFeatures())
	return b.inOrder(parsed.Context.Dense, func(f *spec.Feature, i int) column {
		return joinList(s, parsed.Lists[i], parsed.Lengths[i], f.StoredShape())
	})
}

// nativeRows parses records with our own operations, which decode raw features
// as well. TensorFlow's parsers never see the bytes of a file then.
func (b *builder) nativeRows(s *graph.Scope, serialized tfbridge.Output) []column {
	o := b.placedFiles(s)
	if b.plan.HasLists() {
		return b.columnsOf(native.DecodeSequences(s, serialized, b.nativeSequence(b.nativeColumns()), &o))
	}
	return b.columnsOf(native.Decode(s, serialized, b.nativeFeatures(), &o))
}

// inOrder puts features of one size and VarLen ones, which are parsed apart, into
// the order of the sorted features. list makes the column of a VarLen feature,
// given its place among those.
func (b *builder) inOrder(dense []tfbridge.Output, list func(f *spec.Feature, i int) column) []column {
	var columns []column
	lists := 0
	for _, f := range b.plan.SortedFeatures() {
		if f.VarLen {
			columns = append(columns, list(f, lists))
			lists++
			continue
		}
		columns = append(columns, column{values: dense[0]})
		dense = dense[1:]
	}
	return columns
}

// variableColumn makes the elements of a VarLen feature of Examples of the values
// that they store.
func variableColumn(s *graph.Scope, f *spec.Feature, x graph.RaggedTensor) column {
	each := spec.NumElements(f.Shape)
	if len(f.Shape) == 0 {
		return column{values: x.Values, splits: x.RowSplits}
	}
	size := s.Const(each)
	whole := graph.ReduceAll(s, graph.Equal(s, graph.FloorMod(s, x.RowSplits, size), s.Const(int64(0))))
	message := fmt.Sprintf("feature %s: the values of a record are no multiple of %d", f.Name, each)
	s = s.WithControlDependencies(graph.Assert(s, whole, []tfbridge.Output{s.Const(message)}, nil))
	splits := graph.FloorDiv(s, x.RowSplits, size)
	elements := graph.Subscript(s, splits, graph.At(-1))
	return column{values: reshapeRows(s, x.Values, f.Shape, elements), splits: splits}
}

// joinList joins the feature lists of several records, which come padded to
// the longest.
func joinList(s *graph.Scope, padded, lengths tfbridge.Output, element []int64) column {
	shape := graph.Shape(s, padded)
	rows := graph.Subscript(s, shape, graph.At(0))
	longest := graph.Subscript(s, shape, graph.At(1))
	all := column{values: reshapeRows(s, padded, element, graph.Mul(s, rows, longest))}
	starts := graph.Mul(s, graph.Range(s, s.Const(int64(0)), rows, s.Const(int64(1))), longest)
	return all.take(s, starts, graph.Add(s, starts, lengths))
}

// sequenceFeatures asks for the requested features, each once, all required.
func (b *builder) sequenceFeatures() *graph.SequenceFeatures {
	wanted := &graph.SequenceFeatures{}
	for _, f := range b.plan.SortedFeatures() {
		d := denseFeature(f)
		if f.VarLen {
			wanted.Lists = append(wanted.Lists, graph.ListFeature{Key: d.Key, DType: d.DType, Shape: d.Shape})
		} else {
			wanted.Context.Dense = append(wanted.Context.Dense, d)
		}
	}
	return wanted
}
