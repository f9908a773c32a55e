package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Adam is keras.optimizers.Adam or AdamW.
//
//	m := beta_1 * m + (1 - beta_1) * g
//	v := beta_2 * v + (1 - beta_2) * g²
//	w := w - learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon)
//
// With AMSGrad, the largest v so far takes the place of v.
type Adam struct {
	Common
	Beta1, Beta2, Epsilon float64
	AMSGrad               bool

	adamW bool // only the name differs: Keras applies weight decay alike
}

// NewAdam returns Keras's defaults for Adam: learning rate 0.001, beta_1 0.9,
// beta_2 0.999, epsilon 1e-7.
func NewAdam() *Adam {
	return &Adam{Common: Common{LearningRate: Constant(0.001)}, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// NewAdamW returns Keras's defaults for AdamW: Adam's defaults with a weight decay of
// 0.004.
func NewAdamW() *Adam {
	o := NewAdam()
	o.WeightDecay, o.adamW = 0.004, true
	return o
}

// Name returns "adam" or "adam_w".
func (o *Adam) Name() string {
	if o.adamW {
		return "adam_w"
	}
	return "adam"
}

func (o *Adam) check() error {
	if err := fraction("beta_1", o.Beta1); err != nil {
		return err
	}
	if err := fraction("beta_2", o.Beta2); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

func (o *Adam) slots() []slotKind {
	kinds := []slotKind{{name: "momentum"}, {name: "velocity"}}
	if o.AMSGrad {
		kinds = append(kinds, slotKind{name: "velocity_hat"})
	}
	return kinds
}

func (o *Adam) update(u *updater, v *state) *tfbridge.Operation {
	if v.rows() {
		return o.updateRows(u, v)
	}
	op := "ResourceApplyAdam"
	if o.AMSGrad {
		op = "ResourceApplyAdamWithAmsgrad"
	}
	inputs := []tfbridge.Output{v.Handle}
	for _, slot := range v.slots {
		inputs = append(inputs, slot.Handle)
	}
	inputs = append(inputs, u.power(v, o.Beta1), u.power(v, o.Beta2), v.rate,
		u.number(v, o.Beta1), u.number(v, o.Beta2), u.number(v, o.Epsilon), v.gradient)
	return u.apply(op, nil, inputs...)
}

// updateRows adds the rule for a gradient of rows.
func (o *Adam) updateRows(u *updater, v *state) *tfbridge.Operation {
	s := u.after
	var assigned []*tfbridge.Operation
	set := func(slot Slot, value tfbridge.Output) tfbridge.Output {
		assigned = append(assigned, assign(s, "AssignVariableOp", slot.Handle, value))
		return value
	}
	average := func(slot Slot, beta float64, of tfbridge.Output) tfbridge.Output {
		kept := graph.Mul(s, read(s, slot.Variable), u.number(v, beta))
		return set(slot, graph.Add(s, kept, u.whole(v, graph.Mul(s, of, u.number(v, 1-beta)))))
	}
	momentum := average(v.slots[0], o.Beta1, v.gradient)
	velocity := average(v.slots[1], o.Beta2, square(s, v.gradient))
	if o.AMSGrad {
		velocity = set(v.slots[2], s.Op1("Maximum", nil, read(s, v.slots[2].Variable), velocity))
	}
	one := u.number(v, 1)
	rate := div(s, graph.Mul(s, v.rate, sqrt(s, graph.Sub(s, one, u.power(v, o.Beta2)))), graph.Sub(s, one, u.power(v, o.Beta1)))
	change := div(s, graph.Mul(s, momentum, rate), graph.Add(s, sqrt(s, velocity), u.number(v, o.Epsilon)))
	return assign(s.WithControlDependencies(assigned...), "AssignSubVariableOp", v.Handle, change)
}
