package run

import (
	"context"
	"slices"
	"time"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/loaders"
)

// EvaluateOptions are the options of [Run.Evaluate]. Nil means the defaults.
type EvaluateOptions struct {
	Checkpoint string // see [Folder.Checkpoint]; "": Latest

	// Watch evaluates each new checkpoint once, until the training is finished.
	// The first one is the newest that is there.
	Watch bool
	Poll  time.Duration // how often Watch looks for a new checkpoint; 0: a second, or 5 seconds in a store

	Evaluated func(*Evaluated) error // is called after each evaluation; may be nil
	Note      func(text string)      // something that a person should know; may be nil
}

// Evaluated is the evaluation of a checkpoint.
type Evaluated struct {
	*estimator.Evaluation
	Name string // "step 500"
	Step int64  // 0 for a checkpoint of Python's
}

// Evaluate evaluates a checkpoint of the run, or each new one. The values of a
// checkpoint are read once, so an evaluation is of one moment of the training,
// whatever another process trains meanwhile. The folder is only read.
func (r *Run) Evaluate(ctx context.Context, o *EvaluateOptions) error {
	if o == nil {
		o = &EvaluateOptions{}
	}
	if r.EvaluatePlan == nil {
		e := millrace.Errorf(millrace.ErrConfig, "the run config says nothing about evaluating; add evaluate")
		e.File = r.Path
		return e
	}
	w := &watcher{run: r, o: o}
	defer w.close()
	if o.Watch {
		return w.watch(ctx)
	}
	name := o.Checkpoint
	if name == "" {
		name = Latest
	}
	c, err := r.folder.Checkpoint(name)
	if err != nil {
		return err
	}
	defer c.Close()
	return w.evaluate(ctx, c)
}

// watcher evaluates checkpoints. It loads the model before the first one.
type watcher struct {
	run       *Run
	o         *EvaluateOptions
	model     *estimator.Model
	evaluator *estimator.Evaluator
	last      int64 // the step of the last evaluated checkpoint
	any       bool  // there was one
}

// watch evaluates each new checkpoint. It checks whether the training has finished
// before it lists the checkpoints, so that the list then has the last one.
func (w *watcher) watch(ctx context.Context) error {
	poll := w.o.Poll
	if poll == 0 {
		poll = time.Second
		if w.run.folder.inStore() {
			poll *= 5
		}
	}
	for {
		finished, err := w.run.folder.Finished()
		if err != nil {
			return err
		}
		c, err := w.newer()
		if err != nil {
			return err
		}
		switch {
		case c != nil:
			err := w.evaluate(ctx, c)
			c.Close()
			if err != nil {
				return err
			}
			continue
		case finished != nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return millrace.Canceled(ctx, "watching")
		case <-time.After(poll):
		}
	}
}

// newer returns the oldest checkpoint that is newer than the last one, or the newest at the
// first call; nil if there is none. It skips a checkpoint that disappears or is incomplete
// while it is read.
func (w *watcher) newer() (*checkpoint.Checkpoint, error) {
	dir := w.run.folder.Checkpoints()
	steps, err := checkpoint.Steps(dir)
	if err != nil {
		return nil, err
	}
	if !w.any && len(steps) > 1 {
		steps = steps[len(steps)-1:]
	}
	for _, step := range steps {
		if w.any && step <= w.last {
			continue
		}
		c, err := checkpoint.Load(dir, step)
		if err == nil {
			return c, nil
		}
		if now, _ := checkpoint.Steps(dir); slices.Contains(now, step) { // it is still there, and damaged
			w.last, w.any = step, true
			w.note("skipped: " + err.Error())
		}
	}
	return nil, nil
}

// evaluate evaluates one checkpoint.
func (w *watcher) evaluate(ctx context.Context, c *checkpoint.Checkpoint) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.model.RestoreChecked(c); err != nil {
		return err
	}
	e, err := w.evaluator.Run(ctx)
	if err != nil {
		return err
	}
	w.last, w.any = c.Info.Step, true
	for _, warning := range e.Warnings {
		w.note(warning)
	}
	if w.o.Evaluated == nil {
		return nil
	}
	return w.o.Evaluated(&Evaluated{Evaluation: e, Name: describe(c), Step: c.Info.Step})
}

// load loads the model and joins it to the data, once.
func (w *watcher) load(ctx context.Context) error {
	if w.model != nil {
		return nil
	}
	scan, err := loaders.Prepare(ctx, w.run.EvaluatePlan, &loaders.Options{Runtime: w.run.o.Runtime})
	if err != nil {
		return err
	}
	if w.model, err = w.run.Model.Load(); err != nil {
		return err
	}
	w.evaluator, err = estimator.NewEvaluator(ctx, w.model, &loaders.Source{Plan: w.run.EvaluatePlan, Scan: scan}, w.run.EvaluateOptions())
	return err
}

func (w *watcher) note(text string) {
	if w.o.Note != nil {
		w.o.Note(text)
	}
}

// close frees the model.
func (w *watcher) close() {
	if w.model != nil {
		w.model.Close()
	}
}
