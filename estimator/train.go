package estimator

import (
	"cmp"
	"context"
	"time"

	"millrace"
	"millrace/estimator/weights"
)

// TrainOptions says what [Train] trains and what it writes. Nil and the zero
// value train the signature "train" until the data ends.
type TrainOptions struct {
	Signature string // signature that changes the variables; "": "train", or with an Objective the model's default one
	Loss      string // a scalar output of the signature; "": "loss"

	// Objective trains a signature that changes no variable by itself; nil: the
	// signature changes them. The optimizer's slots are in the checkpoints.
	Objective *Objective

	Steps    int64 // the training ends after step Steps, counted from its very beginning; 0: with the data
	LogEvery int64 // steps from one Hooks.Logged to the next; 0: 50

	CheckpointEvery int64 // steps from one checkpoint to the next; 0: 500
	Keep            int64 // number of newest checkpoints to keep; 0: 5

	// SaveTimeout limits the time that a checkpoint may delay the steps. The position in
	// the data can be saved only when no thread of the input waits for data. After
	// SaveTimeout the checkpoint is skipped, with a note. 0: 30 seconds.
	SaveTimeout time.Duration

	// Init is where the variables come from if dir has no checkpoint yet: what
	// Model.Initialize takes; "": the model.
	Init        string
	InitOptions *weights.Options // nil: each variable needs a value

	Evaluate      *EvaluateOptions // how to evaluate between steps; nil: not at all
	EvaluateEvery int64            // steps from one evaluation to the next; 0: 500
	Best          *Best            // metric that selects the best checkpoint, which is kept; nil: none
	Stop          *Stop            // when to stop early; nil: never
	Plateau       *Plateau         // when to lower the learning rate; nil: never

	// Job says what the training is of, by name: digests of the data and of
	// the settings that decide what a step computes. The model's digest is
	// added. A checkpoint of another job is refused, unless AllowChanged names
	// what differs. Settings that differ only give a note.
	Job, Settings map[string]string
	AllowChanged  []string // keys of Job

	// DataKeys are the keys of Job that the position in the data depends on.
	// Where one of them has changed and may, the data is read from its start.
	DataKeys []string

	Gradients bool // steps also give the gradients of the Objective; see Step.Gradients

	Profile *StepRange // steps to trace, see Step.Trace; nil: none

	Hooks Hooks
}

// StepRange are steps of a training, counted from its very beginning.
type StepRange struct{ First, Last int64 }

// contains reports whether a step is one of them.
func (r *StepRange) contains(step int64) bool { return r.First <= step && step <= r.Last }

// Best says by which metric one checkpoint is better than another.
type Best struct {
	Metric string // "loss", or the name of one of EvaluateOptions.Metrics
	Min    bool   // less is better
}

// Stop says when a training stops before its last step.
type Stop struct {
	Best
	Patience int64   // evaluations in a row that may be no better than the best one
	MinDelta float64 // smallest improvement that counts
}

// Why a training ended.
const (
	EndedBySteps   = "steps"   // it made TrainOptions.Steps
	EndedByData    = "data"    // the source ended
	EndedByStop    = "stop"    // TrainOptions.Stop applied
	EndedByContext = "context" // the context ended
)

// TrainResult is what a training came to.
type TrainResult struct {
	Step       int64       // the last step, counted from the very beginning
	Loss       float64     // loss of the last step of this call; NaN without steps
	Evaluation *Evaluation // the last one; nil if there was none
	Reason     string      // EndedBySteps and so on
	Steps      int64       // number of steps of this call
	Examples   int64       // number of examples in them
	Duration   time.Duration
	InputWait  time.Duration // part of Duration spent waiting for the input pipeline
}

// Train trains a signature of a model on the data of a source: a step is one run of the
// session, which takes a batch and changes the variables. Between steps it writes
// checkpoints to the folder dir, in TensorFlow's format. If dir has a checkpoint, Train
// continues from it. The result is then bit by bit the same as without interruption, if the
// source can save its position (a loader can) and the steps are deterministic.
//
// When ctx ends, Train finishes the step, writes a checkpoint and returns a
// result with reason EndedByContext and an error of class ErrCanceled. If a step
// fails or the loss is not finite, the last checkpoint stays as it is. Errors
// about checkpoints are of class ErrCheckpoint.
//
// The caller closes the model. It may run other pipelines of the model in the
// meantime; see [Model]. One process at a time may train in dir.
func Train(ctx context.Context, m *Model, src Source, dir string, o *TrainOptions) (*TrainResult, error) {
	return TrainAndEvaluate(ctx, m, src, nil, dir, o)
}

// TrainAndEvaluate is [Train] that evaluates between steps, on the data of
// another source, as TrainOptions.Evaluate says. Both pipelines share the
// variables and nothing else: an evaluation changes no later batch of the
// training, and sees the variables of the step before it.
func TrainAndEvaluate(ctx context.Context, m *Model, train, evaluate Source, dir string, o *TrainOptions) (*TrainResult, error) {
	if o == nil {
		o = &TrainOptions{}
	}
	t := &training{model: m, o: o.withDefaults(), dir: dir}
	defer t.close()
	if err := t.prepare(ctx, train, evaluate); err != nil {
		return nil, err
	}
	if err := t.restore(); err != nil {
		return nil, err
	}
	if err := t.announce(); err != nil {
		return nil, err
	}
	if h := t.o.Hooks.Restored; h != nil {
		if err := h(t.step); err != nil {
			return nil, err
		}
	}
	return t.run(ctx)
}

// announce reports what is trained.
func (t *training) announce() error {
	trained, err := trainedBy(t.pipe)
	if err != nil || trained == nil {
		return err
	}
	for _, text := range trained.Notes {
		t.note(text)
	}
	if h := t.o.Hooks.Trains; h != nil {
		return h(trained)
	}
	return nil
}

// withDefaults returns the options with the defaults filled in.
func (o *TrainOptions) withDefaults() *TrainOptions {
	c := *o
	if c.Objective == nil {
		c.Signature = cmp.Or(c.Signature, "train")
	}
	c.Loss = cmp.Or(c.Loss, "loss")
	c.LogEvery = cmp.Or(c.LogEvery, 50)
	c.CheckpointEvery = cmp.Or(c.CheckpointEvery, 500)
	c.EvaluateEvery = cmp.Or(c.EvaluateEvery, 500)
	c.Keep = cmp.Or(c.Keep, 5)
	c.SaveTimeout = cmp.Or(c.SaveTimeout, 30*time.Second)
	return &c
}

// check refuses options that contradict each other.
func (o *TrainOptions) check(evaluate Source) error {
	switch {
	case o.Steps < 0 || o.LogEvery < 0 || o.CheckpointEvery < 0 || o.EvaluateEvery < 0 || o.Keep < 0 || o.SaveTimeout < 0:
		return millrace.Errorf(millrace.ErrConfig, "a number of steps or checkpoints to train, or a time, is negative")
	case (evaluate == nil) != (o.Evaluate == nil):
		return millrace.Errorf(millrace.ErrConfig, "to evaluate between steps, give both a source and TrainOptions.Evaluate")
	case evaluate == nil && (o.Best != nil || o.Stop != nil || o.Plateau != nil):
		return millrace.Errorf(millrace.ErrConfig, "a best checkpoint, an early stop and a plateau need an evaluation")
	}
	return o.Plateau.check(o.Objective)
}
