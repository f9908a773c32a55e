// Package column has tensors of several rows that may differ in length.
//
// # Ragged rows
//
// Records differ in the number of elements of a feature list, and windows in their
// number of positions. Tensors have one shape. tf.data's way is one element of a
// dataset for each row and a padded batch in the end, with a function call for each row
// at every stage. Instead, the rows of a feature travel together, as TensorFlow's
// ragged tensors do: all values joined, and where each row ends.
//
//	rows    [1 2 3]  []  [4 5]
//	values  1 2 3 4 5
//	splits  0 3 3 5           row i is values[splits[i]:splits[i+1]]
//
// Constants, processing steps and lengths work on the joined values, one
// operation for a whole batch. Only at the end do the rows become a tensor:
// padded, or asserted to have one length. Between stages of a dataset that
// shuffle or batch rows one by one, a row is a variant scalar
// (RaggedTensorToVariant).
package column

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Column is a tensor of several rows: records, or windows. If the rows differ
// in length they are joined end to end along their first axis.
type Column struct {
	Values tfbridge.Output // [rows, ...], or joined rows
	Splits tfbridge.Output // where joined rows begin and end; not set: rows of one size
}

// Ragged reports whether the rows are joined.
func (c Column) Ragged() bool { return c.Splits.Op != nil }

// AsRagged returns a ragged column as a ragged tensor.
func (c Column) AsRagged() graph.RaggedTensor {
	return graph.RaggedTensor{Values: c.Values, RowSplits: c.Splits}
}

// Starts returns where the joined rows begin.
func (c Column) Starts(s *graph.Scope) tfbridge.Output {
	return graph.Subscript(s, c.Splits, graph.Until(-1))
}

// Lengths returns the lengths of the joined rows.
func (c Column) Lengths(s *graph.Scope) tfbridge.Output {
	return graph.Sub(s, graph.Subscript(s, c.Splits, graph.From(1)), c.Starts(s))
}

// Rows returns the number of rows as an int64 scalar.
func (c Column) Rows(s *graph.Scope) tfbridge.Output {
	if c.Ragged() {
		return graph.Sub(s, graph.Size(s, c.Splits), s.Const(int64(1)))
	}
	return graph.Subscript(s, graph.Shape(s, c.Values), graph.At(0))
}

// Take returns the rows of a ragged column from begin up to but without end:
// positions in values, one of each for every row.
func (c Column) Take(s *graph.Scope, begin, end tfbridge.Output) Column {
	at := graph.RaggedRange(s, begin, end)
	return Column{Values: graph.GatherV2(s, c.Values, at.Values, 0), Splits: at.RowSplits}
}

// Join returns the rows of a feature's column joined along their first axis.
func (c Column) Join(s *graph.Scope, f *spec.Feature) tfbridge.Output {
	if c.Ragged() {
		return c.Values
	}
	shape := f.TensorShape()
	rows := graph.Mul(s, c.Rows(s), s.Const(shape[0]))
	return ReshapeRows(s, c.Values, shape[1:], rows)
}

// ReshapeRows reshapes x to the leading dimensions, int64 scalars, followed by a known
// shape. TensorFlow need not infer a dimension, because it cannot if there are no
// elements.
func ReshapeRows(s *graph.Scope, x tfbridge.Output, inner []int64, lead ...tfbridge.Output) tfbridge.Output {
	dims := append([]tfbridge.Output{}, lead...)
	for _, n := range inner {
		dims = append(dims, s.Const(n))
	}
	return graph.Reshape(s, x, graph.Pack(s, dims, 0))
}

// Sizes returns the size of every row along an axis.
func (c Column) Sizes(s *graph.Scope, axis int) tfbridge.Output {
	if c.Ragged() && axis == 0 {
		return c.Lengths(s)
	}
	return graph.Fill(s, graph.ExpandDims(s, c.Rows(s), 0), c.innerSize(s, axis))
}

// Elements returns the number of elements of every row of a tensor of a shape whose rows differ
// in length.
func (c Column) Elements(s *graph.Scope, shape []int64) tfbridge.Output {
	return graph.Mul(s, c.Lengths(s), s.Const(spec.NumElements(shape[1:])))
}

// Mask returns a column that is true for every position along an axis.
func (c Column) Mask(s *graph.Scope, axis int) Column {
	yes := s.Const(true)
	if c.Ragged() && axis == 0 {
		positions := graph.Subscript(s, graph.Shape(s, c.Values), graph.Until(1))
		return Column{Values: graph.Fill(s, positions, yes), Splits: c.Splits}
	}
	shape := graph.Pack(s, []tfbridge.Output{c.Rows(s), c.innerSize(s, axis)}, 0)
	return Column{Values: graph.Fill(s, shape, yes)}
}

// innerSize returns the size of an axis that is the same in all rows.
func (c Column) innerSize(s *graph.Scope, axis int) tfbridge.Output {
	if !c.Ragged() {
		axis++ // the rows come first
	}
	return graph.Subscript(s, graph.Shape(s, c.Values), graph.At(int64(axis)))
}
