package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Adadelta is keras.optimizers.Adadelta.
//
//	a := rho * a + (1 - rho) * g²
//	d := g * sqrt(b + epsilon) / sqrt(a + epsilon)
//	b := rho * b + (1 - rho) * d²
//	w := w - learning_rate * d
type Adadelta struct {
	Common
	Rho, Epsilon float64
}

// NewAdadelta returns Keras's defaults: learning rate 0.001, rho 0.95, epsilon 1e-7.
func NewAdadelta() *Adadelta {
	return &Adadelta{Common: Common{LearningRate: Constant(0.001)}, Rho: 0.95, Epsilon: 1e-7}
}

// Name returns "adadelta".
func (o *Adadelta) Name() string { return "adadelta" }

// Check checks the hyperparameters.
func (o *Adadelta) Check() error {
	if err := fraction("rho", o.Rho); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

// Slots returns accumulated_grad and accumulated_delta_var.
func (o *Adadelta) Slots(Variable) []SlotKind {
	return []SlotKind{{Name: "accumulated_grad"}, {Name: "accumulated_delta_var"}}
}

// Update adds the rule.
func (o *Adadelta) Update(v *State) *tfbridge.Operation {
	s, before := v.Scope(), v.Slot(1)
	rms := func(x tfbridge.Output) tfbridge.Output { return sqrt(s, graph.Add(s, x, v.Number(o.Epsilon))) }
	sum := v.averageSlot(0, o.Rho, v.squared())
	change := div(s, graph.Mul(s, v.rowsOf(rms(before)), v.gradient), v.rowsOf(rms(sum)))
	v.averageSlot(1, o.Rho, v.whole(square(s, change)))
	return v.Subtract(graph.Mul(s, v.Rate(), v.whole(change)))
}
