package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Ftrl is keras.optimizers.Ftrl, "follow the regularized leader", for models of many
// sparse features.
type Ftrl struct {
	Common
	LearningRatePower       float64 // 0 or negative
	InitialAccumulatorValue float64
	L1, L2, L2Shrinkage     float64 // Keras's l1_, l2_ and l2_shrinkage_regularization_strength
	Beta                    float64
}

// NewFtrl returns Keras's defaults: learning rate 0.001, learning_rate_power -0.5,
// initial_accumulator_value 0.1, no regularization, beta 0.
func NewFtrl() *Ftrl {
	return &Ftrl{Common: Common{LearningRate: Constant(0.001)}, LearningRatePower: -0.5, InitialAccumulatorValue: 0.1}
}

// Name returns "ftrl".
func (o *Ftrl) Name() string { return "ftrl" }

// Check checks the hyperparameters.
func (o *Ftrl) Check() error {
	if !(o.LearningRatePower <= 0) {
		return errorf("learning_rate_power is %v; it must be 0 or negative", o.LearningRatePower)
	}
	for _, h := range []struct {
		name  string
		value float64
	}{
		{"initial_accumulator_value", o.InitialAccumulatorValue}, {"l1_regularization_strength", o.L1}, {"l2_regularization_strength", o.L2},
		{"l2_shrinkage_regularization_strength", o.L2Shrinkage}, {"beta", o.Beta},
	} {
		if err := notNegative(h.name, h.value); err != nil {
			return err
		}
	}
	return nil
}

// Slots returns accumulator and linear.
func (o *Ftrl) Slots(Variable) []SlotKind {
	return []SlotKind{{Name: "accumulator", Initial: o.InitialAccumulatorValue}, {Name: "linear"}}
}

// Update adds the rule.
func (o *Ftrl) Update(v *State) *tfbridge.Operation {
	s, w, before := v.Scope(), v.Value(), v.Slot(0)
	power := func(x tfbridge.Output) tfbridge.Output { return s.Op1("Pow", nil, x, v.Number(-o.LearningRatePower)) }
	sum := v.SetSlot(0, graph.Add(s, before, v.squared()))
	shrunk := graph.Add(s, v.Gradient(), graph.Mul(s, v.Number(2*o.L2Shrinkage), w))
	sigma := div(s, graph.Sub(s, power(sum), power(before)), v.Rate())
	linear := v.SetSlot(1, graph.Add(s, v.Slot(1), graph.Sub(s, shrunk, graph.Mul(s, sigma, w))))
	l2 := graph.Add(s, v.Number(o.L2), div(s, v.Number(o.Beta), graph.Mul(s, v.Number(2), v.Rate())))
	quadratic := graph.Add(s, div(s, power(sum), v.Rate()), graph.Mul(s, v.Number(2), l2))
	clipped := s.Op1("ClipByValue", nil, linear, v.Number(-o.L1), v.Number(o.L1))
	return v.Assign(div(s, graph.Sub(s, clipped, linear), quadratic))
}
