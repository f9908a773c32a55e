package spec

import (
	"slices"

	"millrace/estimator/optimizer"
	"millrace/loaders/decl"
)

// ScheduleConfig says how the learning rate changes, with Keras's names.
type ScheduleConfig struct {
	decl.Object
	Type         string    `json:"type" decl:"required,enum=constant|exponential|cosine|cosine_restarts|inverse_time|piecewise|polynomial|warmup_cosine" doc:"The curve: ExponentialDecay, CosineDecay, CosineDecayRestarts, InverseTimeDecay, PiecewiseConstantDecay and PolynomialDecay of Keras; warmup_cosine is CosineDecay after a straight line up."`
	LearningRate *float64  `json:"learning_rate,omitempty" decl:"null,above=0" doc:"For constant: the rate."`
	Initial      *float64  `json:"initial_learning_rate,omitempty" decl:"null,min=0" doc:"The rate at the start. Default for warmup_cosine: 0."`
	DecaySteps   *int64    `json:"decay_steps,omitempty" decl:"null,min=1" doc:"For exponential and inverse_time: steps for one factor decay_rate. For cosine, warmup_cosine and polynomial: steps until the end of the curve."`
	DecayRate    *float64  `json:"decay_rate,omitempty" decl:"null,above=0" doc:"For exponential and inverse_time."`
	Staircase    *bool     `json:"staircase,omitempty" decl:"null" doc:"For exponential and inverse_time: the rate falls only every decay_steps. Default: false."`
	Alpha        *float64  `json:"alpha,omitempty" decl:"null,min=0,max=1" doc:"For the cosines: the last rate, as a part of the highest. Default: 0."`
	First        *int64    `json:"first_decay_steps,omitempty" decl:"null,min=1" doc:"For cosine_restarts: steps of the first curve."`
	TMul         *float64  `json:"t_mul,omitempty" decl:"null,min=1" doc:"For cosine_restarts: each curve is this many times as long as the one before it. Default: 2."`
	MMul         *float64  `json:"m_mul,omitempty" decl:"null,above=0" doc:"For cosine_restarts: each curve begins at this many times the rate of the one before it. Default: 1."`
	End          *float64  `json:"end_learning_rate,omitempty" decl:"null,min=0" doc:"For polynomial: the last rate. Default: 0.0001."`
	Power        *float64  `json:"power,omitempty" decl:"null,above=0" doc:"For polynomial. Default: 1."`
	Cycle        *bool     `json:"cycle,omitempty" decl:"null" doc:"For polynomial: the curve starts again after decay_steps, and is longer each time. Default: false."`
	WarmupTarget *float64  `json:"warmup_target,omitempty" decl:"null,above=0" doc:"For warmup_cosine: the highest rate."`
	WarmupSteps  *int64    `json:"warmup_steps,omitempty" decl:"null,min=1" doc:"Steps in which the rate goes up in a straight line, before the curve begins. Required for warmup_cosine."`
	WarmupFrom   *float64  `json:"warmup_from,omitempty" decl:"null,min=0" doc:"The rate at the start of warmup_steps; warmup_cosine has initial_learning_rate for it. Default: 0."`
	Boundaries   []int64   `json:"boundaries,omitempty" decl:"items.min=0" doc:"For piecewise: the last step of each value but the last one, increasing."`
	Values       []float64 `json:"values,omitempty" decl:"items.above=0" doc:"For piecewise: the rates, one more than boundaries."`
}

// needs are the keys that each schedule needs, and may are those it may have.
var (
	needs = map[string][]string{
		"constant":      {"learning_rate"},
		"exponential":   {"initial_learning_rate", "decay_steps", "decay_rate"},
		"cosine":        {"initial_learning_rate", "decay_steps"},
		"piecewise":     {"boundaries", "values"},
		"warmup_cosine": {"warmup_target", "warmup_steps", "decay_steps"},

		"cosine_restarts": {"initial_learning_rate", "first_decay_steps"},
		"inverse_time":    {"initial_learning_rate", "decay_steps", "decay_rate"},
		"polynomial":      {"initial_learning_rate", "decay_steps"},
	}
	may = map[string][]string{
		"constant": warmupKeys, "piecewise": warmupKeys,
		"exponential":     append([]string{"staircase"}, warmupKeys...),
		"cosine":          append([]string{"alpha"}, warmupKeys...),
		"warmup_cosine":   {"alpha", "initial_learning_rate"},
		"cosine_restarts": append([]string{"t_mul", "m_mul", "alpha"}, warmupKeys...),
		"inverse_time":    append([]string{"staircase"}, warmupKeys...),
		"polynomial":      append([]string{"end_learning_rate", "power", "cycle"}, warmupKeys...),
	}
	warmupKeys = []string{"warmup_steps", "warmup_from"}
)

// schedule checks the keys of a schedule and fills in the defaults.
func (c *checker) schedule(s *ScheduleConfig) {
	if s.At == nil || s.Bad("type") {
		return
	}
	for _, key := range needs[s.Type] {
		if !s.Has(key) {
			c.report.Report(s.At, "missing key %q, which %q needs", key, s.Type)
		}
	}
	for k := range s.At.Members() {
		name := k.Name()
		if name != "type" && !slices.Contains(needs[s.Type], name) && !slices.Contains(may[s.Type], name) && inSomeSchedule(name) {
			c.report.Report(k, "%q does not use it", s.Type)
		}
	}
	if s.Type == "piecewise" && s.Has("boundaries") && s.Has("values") && !s.Bad("boundaries", "values") {
		if len(s.Values) != len(s.Boundaries)+1 {
			c.report.Report(s.Key("values"), "%d rates for %d boundaries; there must be one more", len(s.Values), len(s.Boundaries))
		}
		for i := 1; i < len(s.Boundaries); i++ {
			if s.Boundaries[i] <= s.Boundaries[i-1] {
				c.report.Report(s.Key("boundaries").Elem(i), "must be more than the one before, %d, got %d", s.Boundaries[i-1], s.Boundaries[i])
			}
		}
	}
	s.fill()
}

// plateau checks that the learning rate can be lowered.
func (c *checker) plateau() {
	p, o := c.run.Config.Plateau, c.run.Config.Model.Train.Optimizer
	if p == nil || p.At == nil {
		return
	}
	if o == nil {
		c.report.Report(p.At, "it lowers the learning rate of model.train.optimizer, and there is none")
		return
	}
	switch {
	case o.At == nil || o.Bad("learning_rate"):
	case o.LearningRate.B != nil:
		d := c.report.Report(p.At, "the learning rate has a schedule, which decides it in each step")
		d.Hint = "give model.train.optimizer.learning_rate as a number, or leave out reduce_lr_on_plateau"
	case o.LearningRate.A != nil && p.MinLR > *o.LearningRate.A && !p.Bad("min_lr"):
		c.report.Report(p.Key("min_lr"), "must be at most the learning rate, %v, got %v", *o.LearningRate.A, p.MinLR)
	}
}

// inSomeSchedule reports whether a key is one of some schedule.
func inSomeSchedule(key string) bool {
	for _, all := range []map[string][]string{needs, may} {
		for _, keys := range all {
			if slices.Contains(keys, key) {
				return true
			}
		}
	}
	return false
}

// fill fills in the defaults of the schedule's type.
func (s *ScheduleConfig) fill() {
	switch s.Type {
	case "exponential", "inverse_time":
		set(&s.Staircase, false)
	case "cosine":
		set(&s.Alpha, 0)
	case "cosine_restarts":
		set(&s.TMul, 2)
		set(&s.MMul, 1)
		set(&s.Alpha, 0)
	case "polynomial":
		set(&s.End, 0.0001)
		set(&s.Power, 1)
		set(&s.Cycle, false)
	case "warmup_cosine":
		set(&s.Alpha, 0)
		set(&s.Initial, 0)
	}
	if s.WarmupSteps != nil && s.Type != "warmup_cosine" {
		set(&s.WarmupFrom, 0)
	}
}

// rate returns the schedule of a config whose defaults are filled in.
func (o *OptimizerConfig) rate() optimizer.Schedule {
	s := o.LearningRate.B
	if s == nil {
		return optimizer.Constant(*o.LearningRate.A)
	}
	if s.WarmupSteps != nil && s.Type != "warmup_cosine" {
		return optimizer.Warmup{Steps: *s.WarmupSteps, From: *s.WarmupFrom, Then: s.curve()}
	}
	return s.curve()
}

// curve returns the schedule without the warm-up before it.
func (s *ScheduleConfig) curve() optimizer.Schedule {
	switch s.Type {
	case "exponential":
		return optimizer.ExponentialDecay{InitialLearningRate: *s.Initial, DecaySteps: *s.DecaySteps, DecayRate: *s.DecayRate, Staircase: *s.Staircase}
	case "inverse_time":
		return optimizer.InverseTimeDecay{InitialLearningRate: *s.Initial, DecaySteps: *s.DecaySteps, DecayRate: *s.DecayRate, Staircase: *s.Staircase}
	case "cosine":
		return optimizer.CosineDecay{InitialLearningRate: *s.Initial, DecaySteps: *s.DecaySteps, Alpha: *s.Alpha}
	case "warmup_cosine":
		return optimizer.CosineDecay{
			InitialLearningRate: *s.Initial, DecaySteps: *s.DecaySteps, Alpha: *s.Alpha, WarmupTarget: *s.WarmupTarget, WarmupSteps: *s.WarmupSteps,
		}
	case "cosine_restarts":
		return optimizer.CosineDecayRestarts{InitialLearningRate: *s.Initial, FirstDecaySteps: *s.First, TMul: *s.TMul, MMul: *s.MMul, Alpha: *s.Alpha}
	case "polynomial":
		return optimizer.PolynomialDecay{
			InitialLearningRate: *s.Initial, DecaySteps: *s.DecaySteps, EndLearningRate: *s.End, Power: *s.Power, Cycle: *s.Cycle,
		}
	case "piecewise":
		return optimizer.PiecewiseConstantDecay{Boundaries: s.Boundaries, Values: s.Values}
	}
	return optimizer.Constant(*s.LearningRate)
}

// PlateauConfig lowers the learning rate when a metric no longer improves.
type PlateauConfig struct {
	decl.Object
	Metric   string  `json:"metric" decl:"required,nonempty" doc:"loss, or the name of a metric of evaluate."`
	Mode     string  `json:"mode" decl:"default=auto,enum=max|min|auto" doc:"Whether more or less is better; auto as in checkpoints.best."`
	Factor   float64 `json:"factor" decl:"default=0.1,above=0,below=1" doc:"What the learning rate is multiplied by."`
	Patience int64   `json:"patience" decl:"default=10,min=1" doc:"After this many evaluations in a row that are no better than the best one."`
	MinDelta float64 `json:"min_delta" decl:"default=0.0001,min=0" doc:"By how much an evaluation must be better to count as better."`
	Cooldown int64   `json:"cooldown" decl:"default=0,min=0" doc:"Evaluations after a reduction that are not counted."`
	MinLR    float64 `json:"min_lr" decl:"default=0,min=0" doc:"The smallest learning rate."`
}
