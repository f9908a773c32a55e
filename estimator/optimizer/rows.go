package optimizer

import "millrace/tfbridge"

// A gradient of rows (TensorFlow's IndexedSlices) comes from an embedding. Where a rule
// leaves alone what has no gradient, its update touches the rows of the batch only, and
// takes as long for a large vocabulary as for a small one:
//
//	SGD, Adagrad                   the rows of the batch
//	SGD with momentum, RMSprop,    all rows: what is left of earlier gradients
//	Adam, weight decay             moves them, as in Keras
//
// A row that a batch has twice has two gradients. Keras adds them up where a rule takes
// the gradient, and adds up their squares where it takes the square. So does this
// package, for the same numbers. A gradient that is whole is added up before it is
// squared. Adagrad, RMSprop and Adam therefore take another step for an embedding that
// the model also uses as a whole, in Keras and here.

// rows reports whether the gradient is one of rows.
func (v *state) rows() bool { return v.indices.Op != nil }

// whole adds up values for the rows of the gradient to a tensor of the variable's
// shape. Values for a whole gradient are that already.
func (u *updater) whole(v *state, values tfbridge.Output) tfbridge.Output {
	if !v.rows() || u.s.Err() != nil {
		return values
	}
	return u.after.Op1("UnsortedSegmentSum", nil, values, v.indices, u.after.Const(v.Shape.Size(0)))
}

// gather returns the rows of a variable or slot that the gradient has.
func (u *updater) gather(handle tfbridge.Output, v *state) tfbridge.Output {
	return u.after.Op1("ResourceGather", map[string]any{"dtype": v.DType}, handle, v.indices)
}

// scatter adds an operation that changes the rows of a variable or slot.
func (u *updater) scatter(opType string, handle tfbridge.Output, v *state, values tfbridge.Output) *tfbridge.Operation {
	return u.after.AddOperation(tfbridge.OpSpec{Type: opType, Input: []tfbridge.Input{handle, v.indices, values}})
}

// then returns an updater whose changes wait for an operation.
func (u *updater) then(op *tfbridge.Operation) *updater {
	later := *u
	later.after = u.after.WithControlDependencies(op)
	return &later
}
