package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Adagrad is keras.optimizers.Adagrad.
//
//	a := a + g²
//	w := w - learning_rate * g / sqrt(a + epsilon)
//
// TensorFlow's ResourceApplyAdagradV2 adds epsilon to the root instead, so the rule
// consists of operations.
type Adagrad struct {
	Common
	InitialAccumulatorValue, Epsilon float64
}

// NewAdagrad returns Keras's defaults: learning rate 0.001, initial accumulator
// value 0.1, epsilon 1e-7.
func NewAdagrad() *Adagrad {
	return &Adagrad{Common: Common{LearningRate: Constant(0.001)}, InitialAccumulatorValue: 0.1, Epsilon: 1e-7}
}

// Name returns "adagrad".
func (o *Adagrad) Name() string { return "adagrad" }

// Check checks the hyperparameters.
func (o *Adagrad) Check() error {
	if err := notNegative("initial_accumulator_value", o.InitialAccumulatorValue); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

// Slots returns the accumulator.
func (o *Adagrad) Slots(Variable) []SlotKind {
	return []SlotKind{{Name: "accumulator", Initial: o.InitialAccumulatorValue}}
}

// Update adds the rule.
func (o *Adagrad) Update(v *State) *tfbridge.Operation {
	if v.rows() {
		return o.updateRows(v)
	}
	s := v.after
	sum := v.SetSlot(0, graph.Add(s, v.Slot(0), square(s, v.gradient)))
	return v.Subtract(div(s, graph.Mul(s, v.rate, v.gradient), sqrt(s, graph.Add(s, sum, v.Number(o.Epsilon)))))
}

// updateRows adds the rule for the rows that have a gradient. Nothing is as large as
// the variable.
func (o *Adagrad) updateRows(v *State) *tfbridge.Operation {
	later := *v
	later.place = v.then(v.scatter("ResourceScatterAdd", v.slots[0].Handle, square(v.after, v.gradient)))
	s := later.after
	sum := later.gather(v.slots[0].Handle)
	change := div(s, graph.Mul(s, v.rate, v.gradient), sqrt(s, graph.Add(s, sum, v.Number(o.Epsilon))))
	return later.scatter("ResourceScatterSub", v.Handle, change)
}
