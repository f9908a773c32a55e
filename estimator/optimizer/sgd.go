package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// SGD is gradient descent, with momentum unless that is 0, as keras.optimizers.SGD.
//
//	m := momentum * m - learning_rate * g
//	w := w + m                                   (Nesterov: w + momentum * m - learning_rate * g)
type SGD struct {
	Common
	Momentum float64
	Nesterov bool
}

// NewSGD returns Keras's defaults: learning rate 0.01, no momentum.
func NewSGD() *SGD { return &SGD{Common: Common{LearningRate: Constant(0.01)}} }

// Name returns "sgd".
func (o *SGD) Name() string { return "sgd" }

// Check checks the hyperparameters.
func (o *SGD) Check() error { return fraction("momentum", o.Momentum) }

// Slots returns the momentum, if there is one.
func (o *SGD) Slots(Variable) []SlotKind {
	if o.Momentum == 0 {
		return nil
	}
	return []SlotKind{{Name: "momentum"}}
}

// Update adds the rule.
func (o *SGD) Update(v *State) *tfbridge.Operation {
	switch {
	case o.Momentum != 0:
		return v.apply("ResourceApplyKerasMomentum", map[string]any{"use_nesterov": o.Nesterov},
			v.Handle, v.slots[0].Handle, v.rate, v.Gradient(), v.Number(o.Momentum))
	case v.rows():
		return v.scatter("ResourceScatterSub", v.Handle, graph.Mul(v.after, v.gradient, v.rate))
	}
	return v.apply("ResourceApplyGradientDescent", nil, v.Handle, v.rate, v.gradient)
}
