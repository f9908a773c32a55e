package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// State is a variable that is being updated: its value, its gradient and its slots. It
// is valid during the call of Optimizer.Update.
type State struct {
	Variable
	place
	applier  *applier
	gradient tfbridge.Output // gradient, of the variable's shape; with indices, of its rows
	indices  tfbridge.Output // unset: the gradient is whole
	rate     tfbridge.Output // learning rate, of the variable's data type
	slots    []Slot          // slots in the optimizer's order
	assigned []*tfbridge.Operation

	average, accumulator *Slot // nil: there is none
}

// Scope returns the scope to add operations to. They run after
// all reads of the variables for the loss and the gradients.
func (v *State) Scope() *graph.Scope { return v.after }

// Rate returns the learning rate of the step, a scalar of the variable's data type.
func (v *State) Rate() tfbridge.Output { return v.rate }

// Step returns the number of the update, counted from 1, as a scalar of the variable's
// data type.
func (v *State) Step() tfbridge.Output { return graph.Cast(v.s, v.applier.number, v.DType) }

// Number returns a constant of the variable's data type.
func (v *State) Number(value float64) tfbridge.Output { return scalar(v.s, v.DType, value) }

// Value returns the value of the variable before the update, after weight decay.
func (v *State) Value() tfbridge.Output { return read(v.after, v.Variable) }

// Gradient returns the gradient, of the variable's shape. Rows that an embedding gives
// twice are added up.
func (v *State) Gradient() tfbridge.Output { return v.whole(v.gradient) }

// Slot returns the value of a slot before the update. Slots have the order that
// Optimizer.Slots gives them.
func (v *State) Slot(i int) tfbridge.Output { return read(v.after, v.slots[i].Variable) }

// SetSlot assigns a value to a slot and returns the value.
func (v *State) SetSlot(i int, value tfbridge.Output) tfbridge.Output {
	v.assigned = append(v.assigned, assign(v.after, "AssignVariableOp", v.slots[i].Handle, value))
	return value
}

// Subtract takes a change from the variable once all slots are set.
func (v *State) Subtract(change tfbridge.Output) *tfbridge.Operation {
	return assign(v.after.WithControlDependencies(v.assigned...), "AssignSubVariableOp", v.Handle, change)
}

// Assign gives the variable a value once all slots are set.
func (v *State) Assign(value tfbridge.Output) *tfbridge.Operation {
	return assign(v.after.WithControlDependencies(v.assigned...), "AssignVariableOp", v.Handle, value)
}

// squared returns the squares of the gradient, of the variable's shape. The squares of
// rows that are there twice are added up, as in Keras.
func (v *State) squared() tfbridge.Output { return v.whole(square(v.after, v.gradient)) }

// averageSlot moves a slot towards a value: slot * kept + value * (1 - kept).
func (v *State) averageSlot(i int, kept float64, value tfbridge.Output) tfbridge.Output {
	s := v.after
	return v.SetSlot(i, graph.Add(s, graph.Mul(s, v.Slot(i), v.Number(kept)), graph.Mul(s, value, v.Number(1-kept))))
}

// towards moves a slot towards a value as slot + (value - slot) * share, which rounds
// differently from averageSlot.
func (v *State) towards(i int, share float64, value tfbridge.Output) tfbridge.Output {
	s, slot := v.after, v.Slot(i)
	return v.SetSlot(i, graph.Add(s, slot, graph.Mul(s, graph.Sub(s, value, slot), v.Number(share))))
}

// power returns base to the power of the number of this step.
func (v *State) power(base float64) tfbridge.Output {
	return v.s.Op1("Pow", nil, v.Number(base), v.Step())
}

// apply adds one of TensorFlow's training operations on a variable, slots and
// further inputs.
func (v *State) apply(opType string, attrs map[string]any, inputs ...tfbridge.Output) *tfbridge.Operation {
	spec := tfbridge.OpSpec{Type: opType, Attrs: attrs}
	for _, in := range inputs {
		spec.Input = append(spec.Input, in)
	}
	return v.after.AddOperation(spec)
}
