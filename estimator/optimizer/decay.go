package optimizer

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// PolynomialDecay is keras.optimizers.schedules.PolynomialDecay: the rate goes from
// InitialLearningRate to EndLearningRate in DecaySteps, along (1 - step / DecaySteps) ^ Power.
type PolynomialDecay struct {
	InitialLearningRate float64
	DecaySteps          int64
	EndLearningRate     float64
	Power               float64
	Cycle               bool // DecaySteps becomes a multiple of itself whenever the step passes it
}

// Check checks the parameters.
func (d PolynomialDecay) Check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{{"initial_learning_rate", d.InitialLearningRate}, {"end_learning_rate", d.EndLearningRate}, {"power", d.Power}} {
		if err := notNegative(v.name, v.value); err != nil {
			return err
		}
	}
	return positive("decay_steps", d.DecaySteps)
}

// Rate adds the schedule.
func (d PolynomialDecay) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	at, steps := graph.Cast(s, step, tfbridge.Float), float(s, float64(d.DecaySteps))
	if d.Cycle {
		multiple := s.Op1("Ceil", nil, div(s, at, steps))
		steps = graph.Mul(s, steps, graph.Select(s, graph.Equal(s, at, float(s, 0)), float(s, 1), multiple))
	} else {
		at = graph.Minimum(s, at, steps)
	}
	left := s.Op1("Pow", nil, graph.Sub(s, float(s, 1), div(s, at, steps)), float(s, d.Power))
	return graph.Add(s, graph.Mul(s, float(s, d.InitialLearningRate-d.EndLearningRate), left), float(s, d.EndLearningRate))
}

// InverseTimeDecay is keras.optimizers.schedules.InverseTimeDecay:
// initial_learning_rate / (1 + decay_rate * step / decay_steps).
type InverseTimeDecay struct {
	InitialLearningRate float64
	DecaySteps          int64
	DecayRate           float64
	Staircase           bool // step / decay_steps is rounded down
}

// Check checks the parameters.
func (d InverseTimeDecay) Check() error { return ExponentialDecay(d).Check() }

// Rate adds the schedule.
func (d InverseTimeDecay) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	p := div(s, graph.Cast(s, step, tfbridge.Float), float(s, float64(d.DecaySteps)))
	if d.Staircase {
		p = s.Op1("Floor", nil, p)
	}
	return div(s, float(s, d.InitialLearningRate), graph.Add(s, float(s, 1), graph.Mul(s, float(s, d.DecayRate), p)))
}

// CosineDecayRestarts is keras.optimizers.schedules.CosineDecayRestarts: half cosines,
// each TMul times as long and MMul times as high as the one before it.
type CosineDecayRestarts struct {
	InitialLearningRate float64
	FirstDecaySteps     int64
	TMul, MMul          float64 // 0: Keras's 2 and 1
	Alpha               float64
}

// Check checks the parameters.
func (d CosineDecayRestarts) Check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{{"initial_learning_rate", d.InitialLearningRate}, {"m_mul", d.MMul}, {"alpha", d.Alpha}} {
		if err := notNegative(v.name, v.value); err != nil {
			return err
		}
	}
	if d.TMul != 0 && !(d.TMul >= 1) || math.IsInf(d.TMul, 0) {
		return errorf("t_mul is %v; it must be 1 or more", d.TMul)
	}
	return positive("first_decay_steps", d.FirstDecaySteps)
}

// Rate adds the schedule.
func (d CosineDecayRestarts) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	if d.TMul == 0 {
		d.TMul = 2
	}
	if d.MMul == 0 {
		d.MMul = 1
	}
	one, tMul := float(s, 1), float(s, d.TMul)
	done := div(s, graph.Cast(s, step, tfbridge.Float), float(s, float64(d.FirstDecaySteps)))
	restarts := s.Op1("Floor", nil, done)
	if d.TMul == 1 {
		done = graph.Sub(s, done, restarts)
	} else {
		rest := graph.Sub(s, one, graph.Mul(s, done, graph.Sub(s, one, tMul)))
		restarts = s.Op1("Floor", nil, div(s, s.Op1("Log", nil, rest), s.Op1("Log", nil, tMul)))
		longer := s.Op1("Pow", nil, tMul, restarts)
		passed := div(s, graph.Sub(s, one, longer), graph.Sub(s, one, tMul))
		done = div(s, graph.Sub(s, done, passed), longer)
	}
	lower := s.Op1("Pow", nil, float(s, d.MMul), restarts)
	cosine := graph.Add(s, one, s.Op1("Cos", nil, graph.Mul(s, float(s, math.Pi), done)))
	decayed := graph.Mul(s, graph.Mul(s, float(s, 0.5), lower), cosine)
	decayed = graph.Add(s, graph.Mul(s, float(s, 1-d.Alpha), decayed), float(s, d.Alpha))
	return graph.Mul(s, float(s, d.InitialLearningRate), decayed)
}

// Warmup goes in a straight line from From to the first rate of another schedule, in
// Steps steps, and starts that schedule then.
type Warmup struct {
	Steps int64
	From  float64
	Then  Schedule // any schedule but *ReduceLROnPlateau
}

// Check checks the parameters.
func (w Warmup) Check() error {
	if w.Then == nil {
		return errorf("a warm-up needs a schedule that follows it")
	}
	if _, ok := w.Then.(*ReduceLROnPlateau); ok {
		return errorf("a learning rate that evaluations lower cannot follow a warm-up: it depends on no number of steps")
	}
	if err := notNegative("warmup_from", w.From); err != nil {
		return err
	}
	if err := positive("warmup_steps", w.Steps); err != nil {
		return err
	}
	return w.Then.Check()
}

// Rate adds the schedule.
func (w Warmup) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	zero := s.Const(int64(0))
	after := graph.Sub(s, step, s.Const(w.Steps))
	rate := w.Then.Rate(s, graph.Maximum(s, after, zero))
	first := w.Then.Rate(s, zero)
	done := div(s, graph.Cast(s, step, tfbridge.Float), float(s, float64(w.Steps)))
	rising := graph.Add(s, graph.Mul(s, graph.Sub(s, first, float(s, w.From)), done), float(s, w.From))
	return graph.Select(s, graph.Less(s, after, zero), rising, rate)
}
