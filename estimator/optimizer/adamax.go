package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Adamax is keras.optimizers.Adamax: Adam by the largest gradient in the place of the
// mean square.
//
//	m := m + (1 - beta_1) * (g - m)
//	u := max(beta_2 * u, |g|)
//	w := w - learning_rate * m / ((1 - beta_1^t) * (u + epsilon))
type Adamax struct {
	Common
	Beta1, Beta2, Epsilon float64
}

// NewAdamax returns Keras's defaults: learning rate 0.001, beta_1 0.9, beta_2 0.999,
// epsilon 1e-7.
func NewAdamax() *Adamax {
	return &Adamax{Common: Common{LearningRate: Constant(0.001)}, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// Name returns "adamax".
func (o *Adamax) Name() string { return "adamax" }

// Check checks the hyperparameters.
func (o *Adamax) Check() error { return checkAdam(o.Beta1, o.Beta2, o.Epsilon) }

// Slots returns momentum and norm.
func (o *Adamax) Slots(Variable) []SlotKind { return []SlotKind{{Name: "momentum"}, {Name: "norm"}} }

// Update adds the rule.
func (o *Adamax) Update(v *State) *tfbridge.Operation {
	s, g := v.Scope(), v.Gradient()
	m := v.towards(0, 1-o.Beta1, g)
	u := v.SetSlot(1, graph.Maximum(s, graph.Mul(s, v.Number(o.Beta2), v.Slot(1)), v.whole(s.Op1("Abs", nil, v.gradient))))
	scale := graph.Mul(s, graph.Sub(s, v.Number(1), v.power(o.Beta1)), graph.Add(s, u, v.Number(o.Epsilon)))
	return v.Subtract(div(s, graph.Mul(s, v.Rate(), m), scale))
}
