package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// A gradient of rows (TensorFlow's IndexedSlices) comes from an embedding. If a rule
// does not change rows without gradients, its update touches only the rows of the
// batch, and takes as long for a large vocabulary as for a small one:
//
//	SGD, Adagrad                   the rows of the batch
//	all others, momentum,          all rows: what is left of earlier gradients
//	weight decay                   moves them, as in Keras
//
// A row that a batch has twice has two gradients. Keras adds them up where a rule takes
// the gradient, and adds up their squares where it takes the square. So does this
// package, for the same numbers. A whole gradient is added up before it is squared. So
// Adagrad, RMSprop and Adam take different steps for an embedding that the model also
// uses as a whole, in Keras and here.

// rows reports whether the gradient is a gradient of rows.
func (v *State) rows() bool { return v.indices.Op != nil }

// whole adds up values for the rows of the gradient to a tensor of the variable's
// shape. Values for a whole gradient are returned unchanged.
func (v *State) whole(values tfbridge.Output) tfbridge.Output {
	if !v.rows() || v.s.Err() != nil {
		return values
	}
	return v.after.Op1("UnsortedSegmentSum", nil, values, v.indices, v.after.Const(v.Shape.Size(0)))
}

// rowsOf returns the rows of a tensor of the variable's shape that the gradient has.
func (v *State) rowsOf(x tfbridge.Output) tfbridge.Output {
	if !v.rows() {
		return x
	}
	return graph.GatherV2(v.after, x, v.indices, 0)
}

// gather returns the rows of a variable or slot that the gradient has.
func (v *State) gather(handle tfbridge.Output) tfbridge.Output {
	return v.after.Op1("ResourceGather", map[string]any{"dtype": v.DType}, handle, v.indices)
}

// scatter adds an operation that changes the rows of a variable or slot.
func (v *State) scatter(opType string, handle, values tfbridge.Output) *tfbridge.Operation {
	return v.after.AddOperation(tfbridge.OpSpec{Type: opType, Input: []tfbridge.Input{handle, v.indices, values}})
}
