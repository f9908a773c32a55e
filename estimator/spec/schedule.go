package spec

import (
	"slices"

	"millrace/estimator/optimizer"
)

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
