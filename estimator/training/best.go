package training

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"millrace/estimator/checkpoint"
)

// bestState is the best evaluation so far.
type bestState struct {
	Step  int64   `json:"step"`
	Value float64 `json:"value"`
	Since int64   `json:"since"` // evaluations after it
}

// beats reports whether a value is better than the best one by more than delta.
func (b *Best) beats(value float64, than *bestState, delta float64) bool {
	switch {
	case math.IsNaN(value):
		return false
	case than == nil:
		return true
	case b.Min:
		return value < than.Value-delta
	}
	return value > than.Value+delta
}

// next returns the best evaluation after one more.
func (b *Best) next(old *bestState, step int64, value, delta float64) *bestState {
	if b.beats(value, old, delta) {
		return &bestState{Step: step, Value: value}
	}
	if old == nil {
		return nil
	}
	return &bestState{Step: old.Step, Value: old.Value, Since: old.Since + 1}
}

// evaluate evaluates where an evaluation is due after the steps since one, and reports whether this step
// is the best one.
func (t *training) evaluate(ctx context.Context, before int64) (best bool, err error) {
	t.state.Metrics = nil
	due := crossed(before, t.step, t.o.EvaluateEvery) || t.o.Steps > 0 && t.step >= t.o.Steps
	if !due {
		return false, nil
	}
	return t.evaluateNow(ctx)
}

// evaluateNow evaluates, and reports whether this step is the best one.
func (t *training) evaluateNow(ctx context.Context) (best bool, err error) {
	if t.subject.Evaluator == nil || ctx.Err() != nil || t.peers.async() && t.peers.follow() {
		return false, nil
	}
	t.evaluated = t.step
	var e *Evaluation
	err = t.subject.averaged(func() (err error) {
		e, err = t.subject.Evaluator.Run(ctx)
		return err
	})
	if ctx.Err() != nil { // the signal asks for a checkpoint, not for an error
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.result.Evaluation = e
	if !t.warned { // the next evaluations would say it again
		t.warned = len(e.Warnings) > 0
		for _, text := range e.Warnings {
			t.note(text)
		}
	}
	t.state.Metrics = e.finite()
	if best, err = t.compare(e); err != nil {
		return false, err
	}
	if h := t.o.Hooks.Evaluated; h != nil {
		err = h(&Evaluated{Evaluation: e, Step: t.step, Best: best})
	}
	return best, err
}

// compare compares an evaluation with the best ones.
func (t *training) compare(e *Evaluation) (best bool, err error) {
	if b := t.o.Best; b != nil {
		value, err := e.metric(b.Metric)
		if err != nil {
			return false, err
		}
		t.state.Best = b.next(t.state.Best, t.step, value, 0)
		best = t.state.Best != nil && t.state.Best.Step == t.step
	}
	if s := t.o.Stop; s != nil {
		value, err := e.metric(s.Metric)
		if err != nil {
			return false, err
		}
		t.state.Stop = s.next(t.state.Stop, t.step, value, s.MinDelta)
	}
	return best, t.plateau(e)
}

// plateau lowers the learning rate if an evaluation is the last of too many without
// improvement.
func (t *training) plateau(e *Evaluation) error {
	p := t.o.Plateau
	if p == nil {
		return nil
	}
	value, err := e.metric(p.Metric)
	if err != nil {
		return err
	}
	if t.state.Plateau == nil {
		t.state.Plateau = &plateauState{}
	}
	s := t.state.Plateau
	if !s.next(p, t.step, value) {
		return nil
	}
	before, after, err := t.subject.lower()
	if err != nil || after == before {
		return t.subject.Error(err)
	}
	t.note(fmt.Sprintf("step %d: %s has not improved for %d evaluations: the learning rate falls from %v to %v", t.step, p.Metric, s.Wait, before, after))
	s.Wait, s.Cooldown = 0, p.Cooldown
	return nil
}

// stopped reports whether Options.Stop applies.
func (t *training) stopped() bool {
	return t.o.Stop != nil && t.state.Stop != nil && t.state.Stop.Since >= max(1, t.o.Stop.Patience)
}

// bestSteps returns the steps whose checkpoints stay beside the newest.
func (t *training) bestSteps() []int64 {
	if t.state.Best == nil {
		return nil
	}
	return []int64{t.state.Best.Step}
}

// BestStep returns the step of the best checkpoint, given a later checkpoint of the
// same training.
func BestStep(c *checkpoint.Checkpoint) (step int64, ok bool) {
	var s trainState
	if json.Unmarshal(c.Info.State, &s) != nil || s.Best == nil {
		return 0, false
	}
	return s.Best.Step, true
}
