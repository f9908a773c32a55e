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

func (o *Adagrad) check() error {
	if err := notNegative("initial_accumulator_value", o.InitialAccumulatorValue); err != nil {
		return err
	}
	return notNegative("epsilon", o.Epsilon)
}

func (o *Adagrad) slots() []slotKind {
	return []slotKind{{"accumulator", o.InitialAccumulatorValue}}
}

func (o *Adagrad) update(u *updater, v *state) *tfbridge.Operation {
	if v.rows() {
		return o.updateRows(u, v)
	}
	s := u.after
	sum := graph.Add(s, read(s, v.slots[0].Variable), square(s, v.gradient))
	assigned := assign(s, "AssignVariableOp", v.slots[0].Handle, sum)
	change := div(s, graph.Mul(s, v.rate, v.gradient), sqrt(s, graph.Add(s, sum, u.number(v, o.Epsilon))))
	return assign(s.WithControlDependencies(assigned), "AssignSubVariableOp", v.Handle, change)
}

// updateRows adds the rule for the rows that have a gradient. Nothing is as large as
// the variable.
func (o *Adagrad) updateRows(u *updater, v *state) *tfbridge.Operation {
	added := u.scatter("ResourceScatterAdd", v.slots[0].Handle, v, square(u.after, v.gradient))
	later := u.then(added)
	s := later.after
	sum := later.gather(v.slots[0].Handle, v)
	change := div(s, graph.Mul(s, v.rate, v.gradient), sqrt(s, graph.Add(s, sum, u.number(v, o.Epsilon))))
	return later.scatter("ResourceScatterSub", v.Handle, v, change)
}
