package training

import (
	"context"
	"math"
	"strings"
	"time"

	"millrace"
	"millrace/dtype"
	"millrace/graph/steps"
)

// loop makes the steps.
func (t *training) loop(ctx context.Context) error {
	switch {
	case t.state.DataEnded:
		t.result.Reason = EndedByData
		return nil
	case t.o.Steps > 0 && t.step >= t.o.Steps:
		t.result.Reason = EndedBySteps
		return nil
	case t.stopped():
		t.result.Reason = EndedByStop
		return nil
	}
	run := &steps.Options{State: t.position, PrepareSave: true}
	if t.peers.async() {
		run.Share = steps.Share{Of: int64(len(t.peers.Workers)), Rank: int64(t.peers.Rank)}
	}
	if wanted, before := t.o.Profile, t.step; wanted != nil {
		run.Trace = func(step int64) bool { return wanted.contains(before + step) }
	}
	if err := t.beforeStep(); err != nil {
		return err
	}
	// The steps do not get ctx: a cancelled step would still change the variables, and
	// the position of the input would be unknown.
	for batch, err := range t.subject.Run(context.WithoutCancel(ctx), run) {
		if err != nil {
			return err
		}
		if err := t.afterStep(ctx, batch); err != nil || t.result.Reason != "" {
			return err
		}
		if err := t.beforeStep(); err != nil {
			return err
		}
	}
	t.result.Reason, t.state.DataEnded = EndedByData, true
	return t.peers.end(ctx, false, t.note)
}

// beforeStep calls the hook and starts the clock.
func (t *training) beforeStep() error {
	if h := t.o.Hooks.BeforeStep; h != nil {
		if err := h(t.step + 1); err != nil {
			return err
		}
	}
	t.clock.start()
	return nil
}

// afterStep logs, evaluates and saves after a step as the options require, and sets the
// reason after the last step.
func (t *training) afterStep(ctx context.Context, batch *steps.Batch) error {
	before := t.step
	t.step++
	updates, stop, async := t.peers.updates(batch)
	if async {
		t.step = max(updates, t.step)
	}
	if t.o.Steps > 0 {
		t.step = min(t.step, t.o.Steps) // the other processes have made steps meanwhile
	}
	t.state.Examples += batch.Rows() * (t.step - before) // the other processes' batches are as large
	arrived, _ := scalar(batch.Tensor(arrivalName))
	workers, err := t.peers.seconds(batch)
	if err != nil {
		return err
	}
	t.clock.stop(batch.Rows(), time.Duration(arrived), workers)
	step := &Step{Step: t.step, Batch: batch, Scalars: t.scalars(batch), Total: t.clock.total, Trace: batch.Trace(), training: t}
	step.Loss = step.Scalars[t.o.Loss]
	t.result.Loss = step.Loss
	if math.IsNaN(step.Loss) || math.IsInf(step.Loss, 0) {
		return t.notFinite(step)
	}
	if h := t.o.Hooks.AfterStep; h != nil {
		if err := h(step); err != nil {
			return err
		}
	}
	if err := t.log(step, before); err != nil {
		return err
	}
	if t.o.Steps > 0 && t.step >= t.o.Steps {
		t.result.Reason = EndedBySteps
		if async {
			if err := t.peers.end(ctx, true, t.note); err != nil {
				return err
			}
		}
	}
	best, err := t.evaluate(ctx, before)
	if err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil && t.result.Reason == "":
		t.result.Reason = EndedByContext
	case t.result.Reason == "" && (t.stopped() || stop):
		t.result.Reason = EndedByStop
		if err := t.peers.end(ctx, true, t.note); err != nil {
			return err
		}
	}
	if best || crossed(before, t.step, t.o.CheckpointEvery) || t.result.Reason != "" {
		return t.save(context.WithoutCancel(ctx), batch, best)
	}
	return t.reportSaved(t.saver.finished())
}

// crossed reports whether a multiple of a number is after one step and not after another. With
// parameter servers a process sees only some of the steps.
func crossed(before, after, every int64) bool { return before/every != after/every }

// scalars returns the scalar outputs of a step that are numbers.
func (t *training) scalars(batch *steps.Batch) map[string]float64 {
	values := map[string]float64{}
	for _, name := range batch.Names() {
		if name == arrivalName || name == WorkerSecondsName || name == UpdatesName || name == StopName || strings.HasPrefix(name, GradientsPrefix) {
			continue
		}
		if v, ok := scalar(batch.Tensor(name)); ok {
			values[name] = v
		}
	}
	return values
}

// log adds up the scalars of a step, and reports the steps since the last report. The sums are
// part of checkpoints, so that a resumed training reports the means of one that was not
// stopped.
func (t *training) log(s *Step, before int64) error {
	if t.state.Sums == nil {
		t.state.Sums = map[string]sum{}
	}
	for name, v := range s.Scalars {
		if name != LearningRateOutput && isReal(s.Batch.Tensor(name).DataType()) {
			t.state.Sums[name] = t.state.Sums[name].plus(v, float64(s.Batch.Rows()))
		}
	}
	if !crossed(before, t.step, t.o.LogEvery) {
		return nil
	}
	p := t.clock.mark()
	p.Step, p.Loss, p.Scalars, p.Means = s.Step, s.Loss, s.Scalars, map[string]float64{}
	for name, sum := range t.state.Sums {
		p.Means[name] = sum.Total / sum.Weight
	}
	t.state.Sums = nil
	if text := t.peers.slow(&p); text != "" && !t.slow {
		t.slow = true
		t.note(text)
	}
	if h := t.o.Hooks.Logged; h != nil {
		return h(&p)
	}
	return nil
}

// isReal reports whether a data type is one of floating point.
func isReal(d dtype.DataType) bool {
	return d == dtype.Float || d == dtype.Double || d == dtype.Half || d == dtype.Bfloat16
}

// sum is a weighted sum of finite values.
type sum struct {
	Total  float64 `json:"total"`
	Weight float64 `json:"weight"`
}

// plus adds a value. A value that is not finite, or too large, does not change the sum,
// because JSON has no form for it.
func (s sum) plus(value, weight float64) sum {
	total := s.Total + value*weight
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return s
	}
	return sum{total, s.Weight + weight}
}

// notFinite is the error of a step whose loss is NaN or infinite.
func (t *training) notFinite(s *Step) error {
	made := ""
	if place := s.Batch.Place(); place != "" {
		made = ", of " + place
	}
	e := millrace.Errorf(millrace.ErrModel, "step %d: the loss is %v, in a batch of %d examples, number %d to %d of the training%s; the checkpoint before it is untouched",
		s.Step, s.Loss, s.Batch.Rows(), t.state.Examples-s.Batch.Rows()+1, t.state.Examples, made)
	e.File, e.Signature, e.Tensor = t.subject.Dir, t.subject.Signature.Name, t.o.Loss
	return e
}
