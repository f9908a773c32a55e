package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Lamb is keras.optimizers.Lamb: Adam whose step is scaled, variable by variable, to
// the norm of the variable. It is for large batches.
type Lamb struct {
	Common
	Beta1, Beta2, Epsilon float64
}

// NewLamb returns Keras's defaults: learning rate 0.001, beta_1 0.9, beta_2 0.999,
// epsilon 1e-7.
func NewLamb() *Lamb {
	return &Lamb{Common: Common{LearningRate: Constant(0.001)}, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// Name returns "lamb".
func (o *Lamb) Name() string { return "lamb" }

// Check checks the hyperparameters.
func (o *Lamb) Check() error { return checkAdam(o.Beta1, o.Beta2, o.Epsilon) }

// Slots returns momentum and velocity.
func (o *Lamb) Slots(Variable) []SlotKind { return []SlotKind{{Name: "momentum"}, {Name: "velocity"}} }

// Update adds the rule.
func (o *Lamb) Update(v *State) *tfbridge.Operation {
	s, one := v.Scope(), v.Number(1)
	m := v.towards(0, 1-o.Beta1, v.Gradient())
	velocity := v.towards(1, 1-o.Beta2, v.squared())
	m = div(s, m, graph.Sub(s, one, v.power(o.Beta1)))
	root := sqrt(s, div(s, velocity, graph.Sub(s, one, v.power(o.Beta2))))
	change := div(s, m, graph.Add(s, root, v.Number(o.Epsilon)))
	length := func(x tfbridge.Output) tfbridge.Output { return sqrt(s, graph.ReduceSum(s, square(s, x))) }
	weight, step, zero := length(v.Value()), length(change), v.Number(0)
	ratio := graph.Select(s, graph.Greater(s, step, zero), div(s, weight, step), one)
	ratio = graph.Select(s, graph.Greater(s, weight, zero), ratio, one)
	return v.Subtract(graph.Mul(s, graph.Mul(s, ratio, v.Rate()), change))
}
