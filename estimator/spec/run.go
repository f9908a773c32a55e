package spec

import (
	"millrace/diag"
	"millrace/estimator"
	"millrace/estimator/metrics"
	"millrace/loaders"
)

// Run is a run config that was checked, with its model and its loaders.
type Run struct {
	Path         string // path of the run config
	Config       *Config
	Model        *estimator.CheckedModel
	ModelDir     string
	TrainPlan    *loaders.Plan
	EvaluatePlan *loaders.Plan // nil: no evaluation
	Warnings     diag.List
}

// TrainOptions returns the options of the training, without hooks.
func (r *Run) TrainOptions() *estimator.TrainOptions {
	c := r.Config
	o := &estimator.TrainOptions{
		Signature: c.Model.TrainSignature(), Loss: c.Model.Train.LossOutput(), Objective: c.Model.Train.objective(c.Plateau), LogEvery: c.Train.LogEvery,
		CheckpointEvery: c.Checkpoints.EverySteps, Keep: c.Checkpoints.Keep, Evaluate: r.EvaluateOptions(),
	}
	if o.Objective != nil && r.TrainPlan != nil {
		o.Objective.Seed = r.TrainPlan.Seed
	}
	if c.Train.Steps != nil {
		o.Steps = *c.Train.Steps
	}
	if c.Evaluate != nil {
		o.EvaluateEvery = c.Evaluate.EverySteps
	}
	if b := c.Checkpoints.Best; b != nil {
		o.Best = &estimator.Best{Metric: b.Metric, Min: c.lessIsBetter(b.Metric, b.Mode)}
	}
	o.Plateau = c.plateau()
	o.Init, o.InitOptions = r.InitPath(), c.initOptions()
	if s := c.Stop; s != nil {
		o.Stop = &estimator.Stop{
			Best:     estimator.Best{Metric: s.Metric, Min: c.lessIsBetter(s.Metric, s.Mode)},
			Patience: s.Patience, MinDelta: s.MinDelta,
		}
	}
	return o
}

// EvaluateOptions returns the options of an evaluation, nil if there is none.
func (r *Run) EvaluateOptions() *estimator.EvaluateOptions {
	e := r.Config.Evaluate
	if e == nil {
		return nil
	}
	o := &estimator.EvaluateOptions{
		Signature: r.Config.Model.EvaluateSignature(), Loss: r.Config.Model.Train.LossOutput(), Objective: r.Config.Model.Train.objective(nil),
	}
	if e.Steps != nil {
		o.Steps = *e.Steps
	}
	for _, m := range e.Metrics {
		o.Metrics = append(o.Metrics, estimator.Metric{
			Name: m.Name, Labels: m.Labels, Predictions: m.Predictions, Weights: m.Weights,
			Spec: m.spec(),
		})
	}
	return o
}

// spec returns the specification of a metric. Like Keras's F1Score it has no threshold
// unless one is given.
func (m *MetricConfig) spec() metrics.Spec {
	s := metrics.Spec{
		Type: metrics.Type(m.Type), K: m.K, Threshold: m.Threshold, Average: m.Average,
		Probabilities: m.From == "probabilities", Logits: m.Has("from") && m.From == "logits",
	}
	if m.ClassNames.B != nil {
		s.Classes = *m.ClassNames.B
	}
	if m.Recall != nil {
		s.Recall = *m.Recall
	}
	if s.Type == metrics.F1Score && !m.Has("threshold") {
		s.Threshold = 0
	}
	return s
}

// plateau returns the conditions for lowering the learning rate, nil if it is never
// lowered.
func (c *Config) plateau() *estimator.Plateau {
	p := c.Plateau
	if p == nil {
		return nil
	}
	return &estimator.Plateau{
		Stop:     estimator.Stop{Best: estimator.Best{Metric: p.Metric, Min: c.lessIsBetter(p.Metric, p.Mode)}, Patience: p.Patience, MinDelta: p.MinDelta},
		Cooldown: p.Cooldown,
	}
}

// lessIsBetter resolves the mode "auto" of a metric.
func (c *Config) lessIsBetter(metric, mode string) bool {
	if mode != "auto" {
		return mode == "min"
	}
	kind := ""
	if c.Evaluate != nil {
		for _, m := range c.Evaluate.Metrics {
			if m.Name == metric {
				kind = m.Type
			}
		}
	}
	return kind == "" || metrics.Type(kind).Loss() // "" is the loss
}

// InitPath returns the path of the initial weights, "" if there are none.
func (r *Run) InitPath() string {
	where := r.Config.initPath()
	if where == "" {
		return ""
	}
	return (&checker{run: r}).relative(where)
}
