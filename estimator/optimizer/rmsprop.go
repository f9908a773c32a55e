package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// RMSprop is keras.optimizers.RMSprop.
//
//	v := rho * v + (1 - rho) * g²
//	a := rho * a + (1 - rho) * g                            if centered, else 0
//	d := learning_rate * g / sqrt(v - a² + epsilon)
//	m := momentum * m + d                                   if momentum is not 0, else d
//	w := w - m
//
// TensorFlow's ResourceApplyRMSProp always keeps m. Keras keeps it only if there is
// momentum, so without momentum the rule consists of operations; and so it does for
// gradients of rows, see [Gradient].
type RMSprop struct {
	Common
	Rho, Momentum, Epsilon float64
	Centered               bool
}

// NewRMSprop returns Keras's defaults: learning rate 0.001, rho 0.9, no momentum,
// epsilon 1e-7.
func NewRMSprop() *RMSprop {
	return &RMSprop{Common: Common{LearningRate: Constant(0.001)}, Rho: 0.9, Epsilon: 1e-7}
}

// Name returns "rm_sprop".
func (o *RMSprop) Name() string { return "rm_sprop" }

// Check checks the hyperparameters.
func (o *RMSprop) Check() error {
	if err := fraction("rho", o.Rho); err != nil {
		return err
	}
	if err := fraction("momentum", o.Momentum); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

// Slots returns velocity, momentum and average_gradient, as Keras orders them.
func (o *RMSprop) Slots(Variable) []SlotKind {
	kinds := []SlotKind{{Name: "velocity"}}
	if o.Momentum > 0 {
		kinds = append(kinds, SlotKind{Name: "momentum"})
	}
	if o.Centered {
		kinds = append(kinds, SlotKind{Name: "average_gradient"})
	}
	return kinds
}

// Update adds the rule.
func (o *RMSprop) Update(v *State) *tfbridge.Operation {
	if o.Momentum == 0 || v.rows() {
		return o.byOperations(v)
	}
	hyper := []tfbridge.Output{v.rate, v.Number(o.Rho), v.Number(o.Momentum), v.Number(o.Epsilon), v.gradient}
	velocity, momentum := v.slots[0].Handle, v.slots[1].Handle
	if o.Centered {
		return v.apply("ResourceApplyCenteredRMSProp", nil, append([]tfbridge.Output{v.Handle, v.slots[2].Handle, velocity, momentum}, hyper...)...)
	}
	return v.apply("ResourceApplyRMSProp", nil, append([]tfbridge.Output{v.Handle, velocity, momentum}, hyper...)...)
}

// byOperations adds the rule as operations.
func (o *RMSprop) byOperations(v *State) *tfbridge.Operation {
	s, gradient := v.after, v.Gradient()
	denominator := v.averageSlot(0, o.Rho, v.squared())
	if o.Centered {
		denominator = graph.Sub(s, denominator, square(s, v.averageSlot(len(v.slots)-1, o.Rho, gradient)))
	}
	change := div(s, graph.Mul(s, v.rate, gradient), sqrt(s, graph.Add(s, denominator, v.Number(o.Epsilon))))
	if o.Momentum != 0 {
		change = v.SetSlot(1, graph.Add(s, graph.Mul(s, v.Number(o.Momentum), v.Slot(1)), change))
	}
	return v.Subtract(change)
}
