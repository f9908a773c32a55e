package training

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/graph/steps"
	"millrace/remote"
	"millrace/tfbridge"
)

// save takes a snapshot after the step of a batch and starts writing it. The batch may be
// nil at the end of the data, where there is no position.
func (t *training) save(ctx context.Context, batch *steps.Batch, best bool) error {
	if t.peers.follow() {
		return nil
	}
	began := time.Now()
	if err := t.reportSaved(t.saver.wait()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, t.o.SaveTimeout)
	defer stop()
	shot, err := t.snapshot(ctx, batch)
	if errors.Is(err, millrace.ErrCanceled) {
		t.note(fmt.Sprintf("no checkpoint of step %d: the input has waited for data for %v, and its position cannot be taken meanwhile", t.step, t.o.SaveTimeout))
		return nil
	}
	if err != nil {
		return err
	}
	saved := &Saved{
		Step: t.step, Prefix: remote.Join(t.dir, "ckpt-"+strconv.FormatInt(t.step, 10)), Best: best, Held: time.Since(began),
	}
	t.saver.start(shot, saved, checkpoint.Keep{Newest: t.o.Keep, Steps: t.bestSteps()})
	return nil
}

// snapshot returns the data for the checkpoint of this step.
func (t *training) snapshot(ctx context.Context, batch *steps.Batch) (shot *snapshot, err error) {
	t.state.Saves++
	shot = &snapshot{specs: t.fixed, objects: t.objects, saves: t.state.Saves}
	shot.info = checkpoint.Info{Step: t.step, Job: t.job(), Parts: t.o.Parts, Settings: t.o.Settings, Averages: t.averages}
	if shot.info.State, err = json.Marshal(&t.state); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "checkpoint: %w", err)
	}
	if shot.variables, err = t.subject.readValues(); err != nil {
		return nil, t.subject.Error(err)
	}
	if shot.position, err = t.positionOf(ctx, batch); err != nil {
		checkpoint.CloseTensors(shot.variables)
		return nil, err
	}
	return shot, nil
}

// positionOf takes the input's position after a batch and returns a function that
// encodes it, nil if the position cannot be saved.
func (t *training) positionOf(ctx context.Context, batch *steps.Batch) (encode func() ([]byte, error), err error) {
	if batch == nil || t.unsaved {
		return nil, nil
	}
	encode, err = batch.SaveState(ctx)
	if !errors.Is(err, steps.ErrNoPosition) {
		return encode, err
	}
	t.unsaved = true
	t.note("the position in this source cannot be saved: a training that is interrupted reads it from its start again")
	return nil, nil
}

// job returns the digests that identify the training, including the model's.
func (t *training) job() map[string]string {
	job := map[string]string{"model": t.subject.Saved.SHA256, "signature": t.subject.Signature.Name, "loss": t.o.Loss}
	if o := t.o.Objective; o != nil {
		job["loss"] = fmt.Sprintf("%v of %s and %s", &o.Loss, o.Predictions, o.Labels)
		for _, m := range o.More {
			job["loss"] += fmt.Sprintf(", %v of %s and %s", &m.Loss, m.Predictions, m.Labels)
		}
		job["optimizer"], job["variables"] = o.Optimizer.Name(), "all that are trainable"
		if o.Variables != nil {
			job["variables"] = strings.Join(o.Variables, " ")
		}
	}
	maps.Copy(job, t.o.Job)
	return job
}

// facts returns what the processes of a cluster must have in common.
func (t *training) facts() map[string]string {
	facts := t.job()
	facts["step"], facts["last step"] = strconv.FormatInt(t.step, 10), strconv.FormatInt(t.o.Steps, 10)
	facts["TensorFlow"], facts["version of the program"] = tfbridge.Version(), programVersion()
	if t.subject.Step != nil {
		facts["set of trained variables"] = strings.Join(t.subject.Step.Names, " ")
	}
	return facts
}

// programVersion returns the version of this program and the revision that it was built from, as
// far as the build recorded them.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version
}

// reportSaved reports a checkpoint that was written.
func (t *training) reportSaved(s *Saved, err error) error {
	if err != nil || s == nil {
		return err
	}
	if h := t.o.Hooks.Saved; h != nil {
		return h(s)
	}
	return nil
}

// finish writes the final checkpoint, unless the last step already has one, and waits
// until it is on the disk.
func (t *training) finish(ctx context.Context) error {
	if t.result.Reason == EndedByData && t.clock.total.Steps > 0 {
		best, err := false, error(nil)
		if t.evaluated != t.step {
			best, err = t.evaluateNow(ctx)
		}
		if err != nil {
			return err
		}
		if err := t.save(ctx, nil, best); err != nil {
			return err
		}
	}
	return t.reportSaved(t.saver.wait())
}
