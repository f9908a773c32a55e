package run

import (
	"millrace/estimator"
	"millrace/estimator/metrics"
)

// Summary is the result of a run. Its JSON form is part of the interface.
type Summary struct {
	Step              int64                    `json:"step"`
	Loss              *metrics.Value           `json:"loss"`    // loss of the last step; null without steps
	Metrics           map[string]metrics.Value `json:"metrics"` // metrics of the last evaluation
	StepsPerSecond    float64                  `json:"steps_per_s"`
	ExamplesPerSecond float64                  `json:"examples_per_s"`
	InputWait         float64                  `json:"input_wait"` // share of the time of the steps
	Seconds           float64                  `json:"seconds"`    // time of the steps

	reason   string
	finished bool // the run was already finished
}

// newSummary returns the summary of a training.
func newSummary(r *estimator.TrainResult, loss string) *Summary {
	p := estimator.Progress{Steps: r.Steps, Examples: r.Examples, Duration: r.Duration, InputWait: r.InputWait}
	s := &Summary{
		Step: r.Step, Metrics: map[string]metrics.Value{}, StepsPerSecond: round(p.StepsPerSecond()),
		ExamplesPerSecond: round(p.ExamplesPerSecond()), InputWait: round(p.InputShare()), Seconds: round(r.Duration.Seconds()), reason: r.Reason,
	}
	if r.Steps > 0 {
		s.Loss = &metrics.Value{Number: r.Loss}
	}
	if r.Evaluation != nil {
		s.Metrics = r.Evaluation.Values
	}
	return s
}

// Finished reports whether the run was finished before this call, which made no step.
func (s *Summary) Finished() bool { return s.finished }

// Reason returns why the training ended; see [estimator.TrainResult].
func (s *Summary) Reason() string { return s.reason }
