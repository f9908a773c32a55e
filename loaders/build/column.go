package build

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// # Ragged rows
//
// Records differ in how many elements a feature list has, and windows in how
// many positions. Tensors have one shape. tf.data's way is one element of a
// dataset for each row and a padded batch in the end, with a function call for
// each row at every stage. Instead, the rows of a feature travel together, as
// TensorFlow's ragged tensors do: all values joined, and where each row ends.
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

// column is a tensor of several rows: records, or windows. If the rows differ
// in length they are joined end to end along their first axis.
type column struct {
	values tfbridge.Output // [rows, ...], or joined rows
	splits tfbridge.Output // where joined rows begin and end; not set: rows of one size
}

// ragged reports whether the rows are joined.
func (c column) ragged() bool { return c.splits.Op != nil }

func (c column) asRagged() graph.RaggedTensor {
	return graph.RaggedTensor{Values: c.values, RowSplits: c.splits}
}

// starts returns where the joined rows begin.
func (c column) starts(s *graph.Scope) tfbridge.Output {
	return graph.Subscript(s, c.splits, graph.Until(-1))
}

// lengths returns the lengths of the joined rows.
func (c column) lengths(s *graph.Scope) tfbridge.Output {
	return graph.Sub(s, graph.Subscript(s, c.splits, graph.From(1)), c.starts(s))
}

// rows returns the number of rows as an int64 scalar.
func (c column) rows(s *graph.Scope) tfbridge.Output {
	if c.ragged() {
		return graph.Sub(s, graph.Size(s, c.splits), s.Const(int64(1)))
	}
	return graph.Subscript(s, graph.Shape(s, c.values), graph.At(0))
}

// take returns the rows of a ragged column from begin up to but without end:
// positions in values, one of each for every row.
func (c column) take(s *graph.Scope, begin, end tfbridge.Output) column {
	at := graph.RaggedRange(s, begin, end)
	return column{values: graph.GatherV2(s, c.values, at.Values, 0), splits: at.RowSplits}
}

// join returns the rows of a feature's column joined along their first axis.
func (c column) join(s *graph.Scope, f *spec.Feature) tfbridge.Output {
	if c.ragged() {
		return c.values
	}
	shape := f.TensorShape()
	rows := graph.Mul(s, c.rows(s), s.Const(shape[0]))
	return reshapeRows(s, c.values, shape[1:], rows)
}

// reshapeRows reshapes x to the leading dimensions, int64 scalars, and a known
// shape of what is within them. No dimension is left to TensorFlow to find
// out: it cannot where there are no elements.
func reshapeRows(s *graph.Scope, x tfbridge.Output, inner []int64, lead ...tfbridge.Output) tfbridge.Output {
	dims := append([]tfbridge.Output{}, lead...)
	for _, n := range inner {
		dims = append(dims, s.Const(n))
	}
	return graph.Reshape(s, x, graph.Pack(s, dims, 0))
}
