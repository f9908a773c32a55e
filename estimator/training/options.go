package training

import (
	"cmp"
	"time"

	"millrace"
	"millrace/estimator/cluster"
	"millrace/estimator/weights"
)

// Options says what a training trains and what it writes. Nil and the zero
// value train the signature "train" until the data ends.
type Options struct {
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
	// Model.Initialize of package estimator takes; "": the model.
	Init        string
	InitOptions *weights.Options // nil: each variable needs a value

	Evaluate      *EvaluateOptions // how to evaluate between steps; nil: not at all
	EvaluateEvery int64            // steps from one evaluation to the next; 0: 500
	Best          *Best            // metric that selects the best checkpoint, which is kept; nil: none
	Stop          *Stop            // when to stop early; nil: never
	Plateau       *Plateau         // when to lower the learning rate; nil: never

	// Job identifies the training, by name: digests of the data and of the settings
	// that decide the result of a step. The model's digest is added. A checkpoint of
	// another job is refused, unless AllowChanged names the differences. Different
	// Settings only give a note.
	Job, Settings map[string]string
	AllowChanged  []string // keys of Job, or model, signature, loss, optimizer, variables; another name is an error

	// Parts has the values from which those of Job were computed, by the keys of Job. A
	// message about another job lists the values that differ.
	Parts map[string]map[string]string

	// FreeKeys are the keys of Job that may differ without being allowed. A note says so.
	FreeKeys []string

	// DataKeys are the keys of Job that the position in the data depends on. If one of
	// them has changed, and that is allowed, the data is read from its start.
	DataKeys []string

	Gradients bool // steps also give the gradients of the Objective; see Step.Gradients

	Profile *StepRange // steps to trace, see Step.Trace; nil: none

	// Cluster is this process among those that train together, which share each batch; nil:
	// it trains alone. It needs an Objective, and the model's session must be the cluster's.
	// All processes restore the checkpoints in the same folder, and rank 0 writes them. A
	// process that fails or does not come is an error of class millrace.ErrPeer.
	//
	// With parameter servers each process takes other batches, Steps counts the steps of all
	// processes, and rank 0 alone evaluates. The variables are on the servers. Fill reports
	// that this process sets them; it is what the cluster's Meet returned.
	Cluster *cluster.Member
	Fill    bool

	// BeforeSave is called before each checkpoint is written, by the goroutine that writes it:
	// what the log has of the steps so far must last as long as the checkpoint. An error ends
	// the training. May be nil.
	BeforeSave func() error

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

// The reasons why a training ended.
const (
	EndedBySteps   = "steps"   // it made TrainOptions.Steps
	EndedByData    = "data"    // the source ended
	EndedByStop    = "stop"    // TrainOptions.Stop applied
	EndedByContext = "context" // the context ended
)

// Result is the result of a training.
type Result struct {
	Step       int64       // the last step, counted from the very beginning
	Loss       float64     // loss of the last step of this call; NaN without steps
	Evaluation *Evaluation // the last one; nil if there was none
	Reason     string      // EndedBySteps and so on
	Steps      int64       // number of steps of this call
	Examples   int64       // number of examples in them
	Duration   time.Duration
	InputWait  time.Duration // part of Duration spent waiting for the input pipeline
}

// withDefaults returns the options with the defaults filled in.
func (o *Options) withDefaults() *Options {
	c := *o
	if c.Objective == nil {
		c.Signature = cmp.Or(c.Signature, "train")
	} else {
		c.Loss = LossOutput
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
func (o *Options) check(evaluates bool) error {
	switch {
	case o.Steps < 0 || o.LogEvery < 0 || o.CheckpointEvery < 0 || o.EvaluateEvery < 0 || o.Keep < 0 || o.SaveTimeout < 0:
		return millrace.Errorf(millrace.ErrConfig, "a number of steps or checkpoints to train, or a time, is negative")
	case evaluates != (o.Evaluate != nil):
		return millrace.Errorf(millrace.ErrConfig, "to evaluate between steps, give both a source and TrainOptions.Evaluate")
	case o.Cluster != nil && o.Objective == nil:
		return millrace.Errorf(millrace.ErrConfig, "several processes train by the mean of their derivatives, which needs a loss of some type and an optimizer; a signature that changes the variables itself cannot be shared")
	case o.Cluster != nil && o.Cluster.Async() && o.Objective.Optimizer.Settings().UseEMA:
		return millrace.Errorf(millrace.ErrConfig, "use_ema with parameter servers: an evaluation puts the averages in the variables' place, and the other processes would train those; train by all-reduce")
	case !evaluates && (o.Best != nil || o.Stop != nil || o.Plateau != nil):
		return millrace.Errorf(millrace.ErrConfig, "a best checkpoint, an early stop and a plateau need an evaluation")
	}
	return o.Plateau.check(o.Objective)
}
