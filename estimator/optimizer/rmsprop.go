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

func (o *RMSprop) check() error {
	if err := fraction("rho", o.Rho); err != nil {
		return err
	}
	if err := fraction("momentum", o.Momentum); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

// slots returns velocity, momentum and average_gradient, as Keras orders them.
func (o *RMSprop) slots() []slotKind {
	kinds := []slotKind{{name: "velocity"}}
	if o.Momentum > 0 {
		kinds = append(kinds, slotKind{name: "momentum"})
	}
	if o.Centered {
		kinds = append(kinds, slotKind{name: "average_gradient"})
	}
	return kinds
}

func (o *RMSprop) update(u *updater, v *state) *tfbridge.Operation {
	if o.Momentum == 0 || v.rows() {
		return o.byOperations(u, v)
	}
	hyper := []tfbridge.Output{v.rate, u.number(v, o.Rho), u.number(v, o.Momentum), u.number(v, o.Epsilon), v.gradient}
	velocity, momentum := v.slots[0].Handle, v.slots[1].Handle
	if o.Centered {
		return u.apply("ResourceApplyCenteredRMSProp", nil, append([]tfbridge.Output{v.Handle, v.slots[2].Handle, velocity, momentum}, hyper...)...)
	}
	return u.apply("ResourceApplyRMSProp", nil, append([]tfbridge.Output{v.Handle, velocity, momentum}, hyper...)...)
}

// byOperations adds the rule as operations.
func (o *RMSprop) byOperations(u *updater, v *state) *tfbridge.Operation {
	s := u.after
	var assigned []*tfbridge.Operation
	set := func(slot Slot, value tfbridge.Output) tfbridge.Output {
		assigned = append(assigned, assign(s, "AssignVariableOp", slot.Handle, value))
		return value
	}
	kept := func(slot Slot, share float64) tfbridge.Output {
		return graph.Mul(s, u.number(v, share), read(s, slot.Variable))
	}
	average := func(slot Slot, of tfbridge.Output) tfbridge.Output {
		return set(slot, graph.Add(s, kept(slot, o.Rho), graph.Mul(s, u.number(v, 1-o.Rho), of)))
	}
	gradient := u.whole(v, v.gradient)
	denominator := average(v.slots[0], u.whole(v, square(s, v.gradient)))
	if o.Centered {
		denominator = graph.Sub(s, denominator, square(s, average(v.slots[len(v.slots)-1], gradient)))
	}
	change := div(s, graph.Mul(s, v.rate, gradient), sqrt(s, graph.Add(s, denominator, u.number(v, o.Epsilon))))
	if o.Momentum != 0 {
		change = set(v.slots[1], graph.Add(s, kept(v.slots[1], o.Momentum), change))
	}
	return assign(s.WithControlDependencies(assigned...), "AssignSubVariableOp", v.Handle, change)
}
