package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Nadam is keras.optimizers.Nadam: Adam with Nesterov's momentum, whose weight grows
// with the steps: u_t = beta_1 * (1 - 0.96^t / 2).
type Nadam struct {
	Common
	Beta1, Beta2, Epsilon float64
}

// NewNadam returns Keras's defaults: learning rate 0.001, beta_1 0.9, beta_2 0.999,
// epsilon 1e-7.
func NewNadam() *Nadam {
	return &Nadam{Common: Common{LearningRate: Constant(0.001)}, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// Name returns "nadam".
func (o *Nadam) Name() string { return "nadam" }

// Check checks the hyperparameters.
func (o *Nadam) Check() error { return checkAdam(o.Beta1, o.Beta2, o.Epsilon) }

// Slots returns momentum and velocity, and the product of all u_t so far. Keras keeps
// one such product for all variables, and not in its checkpoints; here each variable
// has one, so that a training that was interrupted continues with the same numbers.
func (o *Nadam) Slots(Variable) []SlotKind {
	shape := tfbridge.ScalarShape()
	return []SlotKind{{Name: "momentum"}, {Name: "velocity"}, {Name: "u_product", Initial: 1, Shape: &shape}}
}

// Update adds the rule.
func (o *Nadam) Update(v *State) *tfbridge.Operation {
	s, g, one := v.Scope(), v.Gradient(), v.Number(1)
	weight := func(step tfbridge.Output) tfbridge.Output {
		decayed := graph.Mul(s, v.Number(0.5), s.Op1("Pow", nil, v.Number(0.96), step))
		return graph.Mul(s, v.Number(o.Beta1), graph.Sub(s, one, decayed))
	}
	u, next := weight(v.Step()), weight(graph.Add(s, v.Step(), one))
	product := v.SetSlot(2, graph.Mul(s, v.Slot(2), u))
	m := v.towards(0, 1-o.Beta1, g)
	velocity := v.towards(1, 1-o.Beta2, v.squared())
	ahead := div(s, graph.Mul(s, next, m), graph.Sub(s, one, graph.Mul(s, product, next)))
	now := div(s, graph.Mul(s, graph.Sub(s, one, u), g), graph.Sub(s, one, product))
	corrected := div(s, velocity, graph.Sub(s, one, v.power(o.Beta2)))
	change := div(s, graph.Mul(s, graph.Add(s, ahead, now), v.Rate()), graph.Add(s, sqrt(s, corrected), v.Number(o.Epsilon)))
	return v.Subtract(change)
}
