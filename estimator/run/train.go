package run

import (
	"context"
	"errors"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/cluster"
	"millrace/internal/base/figures"
	"millrace/loaders"
)

// TrainOptions are the options of [Run.Train] that are not part of the config. Nil means
// the defaults.
type TrainOptions struct {
	Steps        int64                // instead of the config's train.steps; 0: the config's
	Init         string               // weights to begin with where the folder has no checkpoint, instead of the config's init; see estimator.Model.Initialize
	AllowChanged []string             // keys of what may differ from the checkpoint: model, signature, loss, variables, optimizer, loader, manifest, seed
	Histograms   int64                // steps from one histogram of the variables, and of the gradients that the run computes, to the next; 0: none
	Profile      *estimator.StepRange // steps to trace; nil: none
	Cluster      *cluster.Member      // this process among those that train together; nil: it trains alone
	Hooks        estimator.Hooks
}

// Train trains, or resumes the training of the folder. See [estimator.TrainAndEvaluate] for
// what happens when ctx ends.
func (r *Run) Train(ctx context.Context, o *TrainOptions) (*Summary, error) {
	if o == nil {
		o = &TrainOptions{}
	}
	if err := r.folder.make(); err != nil {
		return nil, err
	}
	grown, err := newGrowing(r)
	if err != nil {
		return nil, err
	}
	defer grown.close()
	before, err := r.folder.Finished()
	if err != nil {
		return nil, err
	}
	sources, err := r.sources(ctx)
	if err != nil {
		return nil, err
	}
	model, fill, err := r.load(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	r.source = sources.train
	w := &watch{run: r, growing: grown, model: model, scan: sources.train.Scan, hooks: o.Hooks, histogramsEvery: o.Histograms, profile: profile{wanted: o.Profile}}
	options, err := w.options(o)
	if err != nil {
		return nil, err
	}
	options.Fill = fill
	defer w.close()
	result, err := estimator.TrainAndEvaluate(ctx, model, sources.train, sources.evaluate, r.root.Checkpoints(), options)
	err = grown.last(err)
	if o.Cluster != nil && o.Cluster.Async() {
		if failed := o.Cluster.Leave(ctx, err); err == nil {
			err = failed
		}
	}
	if result == nil {
		return nil, err
	}
	if err == nil {
		err = r.folder.write(finishedName, &Finish{Step: result.Step, Reason: result.Reason})
	}
	// The run is finished now, so a failure to write the profile does not change that.
	if profileErr := w.writeProfile(); err == nil {
		err = profileErr
	}
	if err == nil {
		err = w.timeInput(ctx, result.Steps)
	}
	if err == nil && r.EvaluatePlan == nil && result.Steps > 0 {
		w.note("the run was never evaluated: its config has no evaluate")
		err = w.failed
	}
	if result.Steps > 0 {
		err = grown.last(err)
	}
	summary := newSummary(result, options.Loss)
	summary.finished = before != nil && result.Steps == 0 && result.Reason != estimator.EndedByContext
	return summary, err
}

// load loads the model: its variables are in this process, or on parameter servers. fill
// reports that they get their values from this process.
func (r *Run) load(ctx context.Context, c *cluster.Member) (model *estimator.Model, fill bool, err error) {
	checked := r.Model
	switch {
	case c == nil:
	case c.Async():
		if fill, err = c.Meet(ctx); err != nil {
			return nil, false, err
		}
		checked = checked.OnServers(c.Session(), c.Place, !fill)
	default:
		checked = checked.WithSession(c.Session())
	}
	if model, err = checked.Load(); err != nil && c != nil {
		err = c.Lost(err)
	}
	return model, fill, err
}

// sources are the data sources of a run.
type sources struct {
	train    *loaders.Source
	evaluate estimator.Source
}

// sources scans the data files while TensorFlow is being opened.
func (r *Run) sources(ctx context.Context) (*sources, error) {
	s := &sources{}
	scan, err := loaders.Prepare(ctx, r.TrainPlan, &loaders.Options{Runtime: r.o.Runtime})
	if err != nil {
		return nil, err
	}
	if err := checkBatches(r.TrainPlan, scan, "train"); err != nil {
		return nil, err
	}
	s.train = &loaders.Source{Plan: r.TrainPlan, Scan: scan}
	if r.EvaluatePlan != nil {
		s.evaluate = &loaders.Source{Plan: r.EvaluatePlan}
	}
	return s, nil
}

// checkBatches refuses batches that are larger than the data: there would be no batch,
// or each batch would repeat examples.
func checkBatches(p *loaders.Plan, scan *loaders.Scan, use string) error {
	if p.Chunks != nil || p.Bucket != nil {
		return nil
	}
	once, spec := *p, *p.Spec
	once.Spec, spec.Epochs, spec.DropRemainder = &spec, 1, false
	epoch, known := once.ExpectedRows(scan, 0)
	size := p.BatchSize
	if !known || epoch == 0 {
		return nil
	}
	all := epoch * p.Epochs
	at := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrConfig, "%s: target_batch_size is %d, and an epoch has %s"+format, append([]any{use, size, figures.Of(epoch, "example")}, args...)...)
		e.Loader = p.Path
		return e
	}
	switch {
	case p.WithinEpoch && !p.DropRemainder:
	case p.WithinEpoch && epoch < size:
		return at(", which drop_remainder drops in every epoch; make it at most %d, or drop_remainder false", epoch)
	case p.Epochs != 1 && epoch < size:
		return at(": a batch would have examples more than once; make it at most %d", epoch)
	case p.DropRemainder && p.Epochs > 0 && all < size:
		return at(", which drop_remainder drops; make it at most %d, or drop_remainder false", epoch)
	}
	return nil
}

// watch writes the events of a training into the folder, and passes them on.
type watch struct {
	run   *Run
	model *estimator.Model
	scan  *loaders.Scan // scan of the training data
	hooks estimator.Hooks

	growing *growing // where the log and the event files are written

	log    *log
	events *eventFiles
	loss   string
	step   int64    // the last one
	notes  []string // from before the log was open
	failed error    // to write a note

	histogramsEvery int64 // steps; 0: none
	profile         profile
}

// options returns the options of the training.
func (w *watch) options(o *TrainOptions) (*estimator.TrainOptions, error) {
	options := w.run.TrainOptions()
	if o.Steps > 0 {
		options.Steps = o.Steps
	}
	job, parts, err := w.run.job()
	if err != nil {
		return nil, err
	}
	w.loss = options.Loss
	options.Job, options.Parts, options.Settings = job, parts, w.run.settings()
	options.Cluster = o.Cluster
	options.AllowChanged, options.FreeKeys = o.AllowChanged, []string{rateKey}
	if o.Init != "" {
		options.Init = o.Init
	}
	options.BeforeSave = w.growing.copy
	options.DataKeys = []string{loaderKey, manifestKey, seedKey}
	options.Hooks = o.Hooks
	options.Gradients, options.Profile = o.Histograms > 0, o.Profile
	options.Hooks.AfterStep = w.afterStep
	options.Hooks.Restored, options.Hooks.Logged, options.Hooks.Evaluated = w.restored, w.logged, w.evaluated
	options.Hooks.Note = w.note
	return options, nil
}

// restored writes run.json and opens the log. The folder is already locked, and its
// contents belong to this run.
func (w *watch) restored(step int64) error {
	job, _, err := w.run.job()
	if err != nil {
		return err
	}
	record, err := w.run.record(job)
	if err != nil {
		return err
	}
	if err := w.run.folder.writeRecord(record); err != nil {
		return err
	}
	if err := w.run.folder.reopen(); err != nil {
		return err
	}
	if w.log, err = openLog(w.run.folder, w.growing.folder, step); err != nil {
		return err
	}
	w.step = step
	for _, text := range w.notes {
		if err := w.log.note(step, text); err != nil {
			return err
		}
	}
	w.events = &eventFiles{folder: w.growing.folder, step: step, most: w.growing.mostEvents()}
	if err := w.events.hyperparameters(w.run.hyperparameters()); err != nil {
		return err
	}
	if step == 0 {
		if err := w.writeGraph(); err != nil {
			return err
		}
		if err := w.writeInput(); err != nil {
			return err
		}
	}
	if w.hooks.Restored != nil {
		return w.hooks.Restored(step)
	}
	return nil
}

// writeGraph writes the model's graph, joined to the pipelines.
func (w *watch) writeGraph() error {
	def, err := w.model.GraphDef(context.Background())
	if err != nil {
		return err
	}
	return w.events.graph(def)
}

// note writes a note to the log, and passes it on. Notes that come before the log is open
// are written when it is.
func (w *watch) note(text string) {
	if w.log == nil {
		w.notes = append(w.notes, text)
	} else if err := w.log.note(w.step, text); err != nil {
		w.failed = err
	}
	if w.hooks.Note != nil {
		w.hooks.Note(text)
	}
}

// afterStep writes the requested data of a step.
func (w *watch) afterStep(s *estimator.Step) error {
	w.step = s.Step
	if w.failed != nil {
		return w.failed
	}
	if err := w.histograms(s); err != nil {
		return err
	}
	if err := w.trace(s); err != nil {
		return err
	}
	if w.hooks.AfterStep != nil {
		return w.hooks.AfterStep(s)
	}
	return nil
}

// logged writes a line of the log and the values for TensorBoard.
func (w *watch) logged(p *estimator.Progress) error {
	if err := w.log.progress(p, w.loss); err != nil {
		return err
	}
	if err := w.events.progress(p, w.loss); err != nil {
		return err
	}
	if w.hooks.Logged != nil {
		return w.hooks.Logged(p)
	}
	return nil
}

// evaluated writes a line of the log and the values for TensorBoard.
func (w *watch) evaluated(e *estimator.Evaluated) error {
	if err := w.log.evaluated(e); err != nil {
		return err
	}
	if err := w.events.evaluated(e); err != nil {
		return err
	}
	if w.hooks.Evaluated != nil {
		return w.hooks.Evaluated(e)
	}
	return nil
}

// close closes the files, which have been flushed.
func (w *watch) close() {
	if w.log != nil {
		w.log.Close()
	}
	if w.events != nil {
		w.events.Close()
	}
}

// Interrupted reports whether a training ended because its context did, with a
// checkpoint of its last step.
func Interrupted(s *Summary, err error) bool {
	return s != nil && s.reason == estimator.EndedByContext && errors.Is(err, millrace.ErrCanceled)
}
