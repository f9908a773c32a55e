package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Lion is keras.optimizers.Lion.
//
//	w := w - learning_rate * sign(beta_1 * m + (1 - beta_1) * g)
//	m := beta_2 * m + (1 - beta_2) * g
type Lion struct {
	Common
	Beta1, Beta2 float64
}

// NewLion returns Keras's defaults: learning rate 0.001, beta_1 0.9, beta_2 0.99.
func NewLion() *Lion {
	return &Lion{Common: Common{LearningRate: Constant(0.001)}, Beta1: 0.9, Beta2: 0.99}
}

// Name returns "lion".
func (o *Lion) Name() string { return "lion" }

// Check checks the hyperparameters.
func (o *Lion) Check() error {
	if o.Beta1 == 0 {
		return errorf("beta_1 is 0; it must be positive, or nothing is left of the gradients but their signs")
	}
	return checkAdam(o.Beta1, o.Beta2, 0)
}

// Slots returns the momentum.
func (o *Lion) Slots(Variable) []SlotKind { return []SlotKind{{Name: "momentum"}} }

// Update adds the rule.
func (o *Lion) Update(v *State) *tfbridge.Operation {
	s, g, m := v.Scope(), v.Gradient(), v.Slot(0)
	mixed := graph.Add(s, graph.Mul(s, m, v.Number(o.Beta1)), graph.Mul(s, g, v.Number(1-o.Beta1)))
	change := graph.Mul(s, v.Rate(), s.Op1("Sign", nil, mixed))
	v.SetSlot(0, graph.Add(s, graph.Mul(s, m, v.Number(o.Beta2)), graph.Mul(s, g, v.Number(1-o.Beta2))))
	return v.Subtract(change)
}
