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

func (o *SGD) check() error { return fraction("momentum", o.Momentum) }

func (o *SGD) slots() []slotKind {
	if o.Momentum == 0 {
		return nil
	}
	return []slotKind{{name: "momentum"}}
}

func (o *SGD) update(u *updater, v *state) *tfbridge.Operation {
	switch {
	case o.Momentum != 0:
		return u.apply("ResourceApplyKerasMomentum", map[string]any{"use_nesterov": o.Nesterov},
			v.Handle, v.slots[0].Handle, v.rate, u.whole(v, v.gradient), u.number(v, o.Momentum))
	case v.rows():
		return u.scatter("ResourceScatterSub", v.Handle, v, graph.Mul(u.after, v.gradient, v.rate))
	}
	return u.apply("ResourceApplyGradientDescent", nil, v.Handle, v.rate, v.gradient)
}
