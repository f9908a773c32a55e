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

// Check checks the hyperparameters.
func (o *Adam) Check() error { return checkAdam(o.Beta1, o.Beta2, o.Epsilon) }

// checkAdam checks the hyperparameters of Adam and its relatives.
func checkAdam(beta1, beta2, epsilon float64) error {
	if err := fraction("beta_1", beta1); err != nil {
		return err
	}
	if err := fraction("beta_2", beta2); err != nil {
		return err
	}
	return notNegative("epsilon", epsilon)
}

// Slots returns momentum, velocity and, for AMSGrad, velocity_hat.
func (o *Adam) Slots(Variable) []SlotKind {
	kinds := []SlotKind{{Name: "momentum"}, {Name: "velocity"}}
	if o.AMSGrad {
		kinds = append(kinds, SlotKind{Name: "velocity_hat"})
	}
	return kinds
}

// Update adds the rule.
func (o *Adam) Update(v *State) *tfbridge.Operation {
	if v.rows() {
		return o.updateRows(v)
	}
	op := "ResourceApplyAdam"
	if o.AMSGrad {
		op = "ResourceApplyAdamWithAmsgrad"
	}
	inputs := []tfbridge.Output{v.Handle}
	for _, slot := range v.slots {
		inputs = append(inputs, slot.Handle)
	}
	inputs = append(inputs, v.power(o.Beta1), v.power(o.Beta2), v.rate,
		v.Number(o.Beta1), v.Number(o.Beta2), v.Number(o.Epsilon), v.gradient)
	return v.apply(op, nil, inputs...)
}

// updateRows adds the rule for a gradient of rows.
func (o *Adam) updateRows(v *State) *tfbridge.Operation {
	s := v.after
	average := func(i int, beta float64, value tfbridge.Output) tfbridge.Output {
		kept := graph.Mul(s, v.Slot(i), v.Number(beta))
		return v.SetSlot(i, graph.Add(s, kept, v.whole(graph.Mul(s, value, v.Number(1-beta)))))
	}
	momentum := average(0, o.Beta1, v.gradient)
	velocity := average(1, o.Beta2, square(s, v.gradient))
	if o.AMSGrad {
		velocity = v.SetSlot(2, graph.Maximum(s, v.Slot(2), velocity))
	}
	one := v.Number(1)
	rate := div(s, graph.Mul(s, v.rate, sqrt(s, graph.Sub(s, one, v.power(o.Beta2)))), graph.Sub(s, one, v.power(o.Beta1)))
	return v.Subtract(div(s, graph.Mul(s, momentum, rate), graph.Add(s, sqrt(s, velocity), v.Number(o.Epsilon))))
}
