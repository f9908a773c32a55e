package optimizer

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Schedule gives the learning rate of each step, computed in the graph from the
// number of updates so far. This package has Keras's; a schedule from elsewhere is a
// type with these methods.
type Schedule interface {
	// Check returns an error if a parameter is out of its range.
	Check() error
	// Rate returns the rate as a float scalar. step, an int64 scalar, is the number of
	// updates so far.
	Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output
}

// Constant is the same learning rate in each step.
type Constant float64

// Check checks the parameters.
func (c Constant) Check() error { return notNegative("learning_rate", float64(c)) }

// Rate adds the schedule.
func (c Constant) Rate(s *graph.Scope, _ tfbridge.Output) tfbridge.Output {
	return float(s, float64(c))
}

// float returns a float constant.
func float(s *graph.Scope, value float64) tfbridge.Output { return scalar(s, tfbridge.Float, value) }

// ExponentialDecay is keras.optimizers.schedules.ExponentialDecay:
// initial_learning_rate * decay_rate ^ (step / decay_steps).
type ExponentialDecay struct {
	InitialLearningRate float64
	DecaySteps          int64
	DecayRate           float64
	Staircase           bool // step / decay_steps is rounded down
}

// Check checks the parameters.
func (d ExponentialDecay) Check() error {
	if err := notNegative("initial_learning_rate", d.InitialLearningRate); err != nil {
		return err
	}
	if err := notNegative("decay_rate", d.DecayRate); err != nil {
		return err
	}
	return positive("decay_steps", d.DecaySteps)
}

// Rate adds the schedule.
func (d ExponentialDecay) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	p := div(s, graph.Cast(s, step, tfbridge.Float), float(s, float64(d.DecaySteps)))
	if d.Staircase {
		p = s.Op1("Floor", nil, p)
	}
	return graph.Mul(s, float(s, d.InitialLearningRate), s.Op1("Pow", nil, float(s, d.DecayRate), p))
}

// PiecewiseConstantDecay is keras.optimizers.schedules.PiecewiseConstantDecay: the
// rate is Values[i] as long as step is at most Boundaries[i], and the last value
// after that.
type PiecewiseConstantDecay struct {
	Boundaries []int64   // strictly increasing
	Values     []float64 // one more than boundaries
}

// Check checks the parameters.
func (d PiecewiseConstantDecay) Check() error {
	if len(d.Values) != len(d.Boundaries)+1 {
		return errorf("piecewise learning rate: %d values for %d boundaries; there must be one value more", len(d.Values), len(d.Boundaries))
	}
	for i, b := range d.Boundaries {
		if i > 0 && b <= d.Boundaries[i-1] {
			return errorf("piecewise learning rate: boundary %d comes after %d; boundaries must increase", b, d.Boundaries[i-1])
		}
	}
	for _, v := range d.Values {
		if err := notNegative("learning_rate", v); err != nil {
			return err
		}
	}
	return nil
}

// Rate adds the schedule.
func (d PiecewiseConstantDecay) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	values := make([]float32, len(d.Values))
	for i, v := range d.Values {
		values[i] = float32(v)
	}
	if len(d.Boundaries) == 0 {
		return s.Const(values[0])
	}
	passed := graph.Cast(s, graph.Greater(s, step, s.Const(d.Boundaries)), tfbridge.Int32)
	return graph.GatherV2(s, s.Const(values), graph.ReduceSum(s, passed), 0)
}

// CosineDecay is keras.optimizers.schedules.CosineDecay. With WarmupSteps, the rate
// first goes in a straight line from InitialLearningRate to WarmupTarget. Then it
// decays along a half cosine to Alpha times its highest value.
type CosineDecay struct {
	InitialLearningRate float64
	DecaySteps          int64
	Alpha               float64
	WarmupTarget        float64 // used if WarmupSteps is not 0
	WarmupSteps         int64
}

// Check checks the parameters.
func (d CosineDecay) Check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{{"initial_learning_rate", d.InitialLearningRate}, {"alpha", d.Alpha}, {"warmup_target", d.WarmupTarget}, {"warmup_steps", float64(d.WarmupSteps)}} {
		if err := notNegative(v.name, v.value); err != nil {
			return err
		}
	}
	return positive("decay_steps", d.DecaySteps)
}

// Rate adds the schedule.
func (d CosineDecay) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	at := graph.Cast(s, step, tfbridge.Float)
	if d.WarmupSteps == 0 {
		return d.decay(s, at, d.InitialLearningRate)
	}
	warmup := float(s, float64(d.WarmupSteps))
	rising := graph.Add(s, graph.Mul(s, float(s, d.WarmupTarget-d.InitialLearningRate), div(s, at, warmup)), float(s, d.InitialLearningRate))
	return graph.Select(s, graph.Less(s, at, warmup), rising, d.decay(s, graph.Sub(s, at, warmup), d.WarmupTarget))
}

// decay returns the rate that starts at from, at a step counted from the start of
// the decay.
func (d CosineDecay) decay(s *graph.Scope, at tfbridge.Output, from float64) tfbridge.Output {
	steps := float(s, float64(d.DecaySteps))
	done := div(s, graph.Minimum(s, at, steps), steps)
	cosine := s.Op1("Cos", nil, graph.Mul(s, float(s, math.Pi), done))
	half := graph.Mul(s, float(s, 0.5), graph.Add(s, float(s, 1), cosine))
	return graph.Mul(s, float(s, from), graph.Add(s, graph.Mul(s, float(s, 1-d.Alpha), half), float(s, d.Alpha)))
}
