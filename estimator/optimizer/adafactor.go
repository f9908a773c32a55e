package optimizer

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Adafactor is keras.optimizers.Adafactor. For a variable of two or more dimensions it
// computes the mean square of the gradient from means along the last dimension and
// along the one before it.
//
// Keras's argument relative_step has no counterpart: the rate of a step is at most
// 1 / sqrt(step) with either value of it.
type Adafactor struct {
	Common
	Beta2Decay, Epsilon1, Epsilon2, ClipThreshold float64
}

// NewAdafactor returns Keras's defaults: learning rate 0.001, beta_2_decay -0.8,
// epsilon_1 1e-30, epsilon_2 0.001, clip_threshold 1.
func NewAdafactor() *Adafactor {
	return &Adafactor{Common: Common{LearningRate: Constant(0.001)}, Beta2Decay: -0.8, Epsilon1: 1e-30, Epsilon2: 1e-3, ClipThreshold: 1}
}

// Name returns "adafactor".
func (o *Adafactor) Name() string { return "adafactor" }

// Check checks the hyperparameters.
func (o *Adafactor) Check() error {
	switch {
	case math.IsNaN(o.Beta2Decay) || math.IsInf(o.Beta2Decay, 0):
		return errorf("beta_2_decay is %v; it must be finite", o.Beta2Decay)
	case !(o.ClipThreshold > 0):
		return errorf("clip_threshold is %v; it must be positive", o.ClipThreshold)
	}
	if err := notNegative("epsilon_1", o.Epsilon1); err != nil {
		return err
	}
	return notNegative("epsilon_2", o.Epsilon2)
}

// Slots returns the velocity and, for a variable of two or more dimensions, its means
// along the last and along the second last of them, "r" and "c".
func (o *Adafactor) Slots(v Variable) []SlotKind {
	kinds := []SlotKind{{Name: "velocity"}}
	if dims := v.Shape.Dims(); len(dims) >= 2 {
		n := len(dims)
		r := tfbridge.MakeShape(dims[:n-1]...)
		c := tfbridge.MakeShape(append(append([]int64(nil), dims[:n-2]...), dims[n-1])...)
		kinds = append(kinds, SlotKind{Name: "r", Shape: &r}, SlotKind{Name: "c", Shape: &c})
	}
	return kinds
}

// Update adds the rule.
func (o *Adafactor) Update(v *State) *tfbridge.Operation {
	s, one, step := v.Scope(), v.Number(1), v.Step()
	beta := graph.Sub(s, one, s.Op1("Pow", nil, step, v.Number(o.Beta2Decay)))
	average := func(i int, value tfbridge.Output) tfbridge.Output {
		return v.SetSlot(i, graph.Add(s, graph.Mul(s, beta, v.Slot(i)), graph.Mul(s, graph.Sub(s, one, beta), value)))
	}
	mean := func(x tfbridge.Output, axis int32, keep bool) tfbridge.Output {
		return s.Op1("Mean", map[string]any{"keep_dims": keep}, x, s.Const(axis))
	}
	squares := graph.Add(s, v.squared(), v.Number(o.Epsilon1))
	var velocity tfbridge.Output
	if v.Shape.NumDimensions() >= 2 {
		r, c := average(1, mean(squares, -1, false)), average(2, mean(squares, -2, false))
		rows := graph.ExpandDims(s, div(s, r, mean(r, -1, true)), -1)
		velocity = v.SetSlot(0, graph.Mul(s, rows, graph.ExpandDims(s, c, -2)))
	} else {
		velocity = average(0, squares)
	}
	change := div(s, v.Gradient(), sqrt(s, velocity))
	change = div(s, change, graph.Maximum(s, one, div(s, o.rms(s, change), v.Number(o.ClipThreshold))))
	rate := graph.Minimum(s, v.Rate(), div(s, one, sqrt(s, step)))
	rate = graph.Mul(s, graph.Maximum(s, v.Number(o.Epsilon2), o.rms(s, v.Value())), rate)
	return v.Subtract(graph.Mul(s, rate, change))
}

// rms returns the root of the mean square of all elements.
func (o *Adafactor) rms(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	return sqrt(s, div(s, graph.ReduceSum(s, square(s, x)), graph.Cast(s, graph.Size(s, x), x.DataType())))
}
