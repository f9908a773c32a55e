package training

import (
	"context"
	"math"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/savedmodel"
)

// What happens when, in a training:
//
//	step k        one session run takes a batch and changes the variables
//	  loss        a loss that is not finite ends the training
//	  log         every LogEvery steps
//	  evaluate    every EvaluateEvery steps, with a pipeline of its own
//	  snapshot    every CheckpointEvery steps: the variables and the position in
//	              the data, both behind step k, are taken; nothing is written yet
//	step k+1      goes on while another goroutine writes the snapshot
//
// Steps run only on demand, so between two steps neither the variables nor the input
// change. A snapshot taken then is one moment of the training.

// training is one call of [Run].
type training struct {
	o   *Options
	dir string

	peers    peers
	subject  *Subject
	store    *checkpoint.Store
	saver    *saver
	objects  string             // the graph of Python's objects, as the model's own checkpoint has it; "": none
	averages map[string]string  // see checkpoint.Info
	fixed    []dtype.TensorSpec // what a checkpoint holds, in the order of snapshot
	unsaved  bool               // the source's position cannot be saved

	step      int64
	evaluated int64 // the step of the last evaluation
	warned    bool  // an evaluation had warnings
	slow      bool  // a note has named a slow process of the cluster
	state     trainState
	position  []byte // position in the data to continue from; nil: the start
	result    Result
	clock     clock
}

// trainState is the state of a training in a checkpoint, in addition to the variables.
type trainState struct {
	Examples  int64              `json:"examples"`             // number of examples in all steps
	Saves     int64              `json:"saves"`                // checkpoints so far
	DataEnded bool               `json:"data_ended,omitempty"` // the source ended; there is no position
	Best      *bestState         `json:"best,omitempty"`       // best evaluation by Options.Best
	Stop      *bestState         `json:"stop,omitempty"`       // best evaluation by Options.Stop
	Plateau   *plateauState      `json:"plateau,omitempty"`    // evaluations by Options.Plateau
	Metrics   map[string]float64 `json:"metrics,omitempty"`    // finite metrics of the evaluation at this step
	Sums      map[string]sum     `json:"sums,omitempty"`       // scalars of the steps that are not logged yet
}

// Run trains a subject in a folder. It checks the options and locks the folder, and
// then calls join to make the subject from the options with all defaults. evaluates
// says whether there is data for evaluations.
func Run(ctx context.Context, dir string, o *Options, evaluates bool, join func(o *Options) (*Subject, error)) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	t := &training{o: o.withDefaults(), dir: dir, peers: peers{o.Cluster}}
	defer t.close()
	if err := t.prepare(evaluates, join); err != nil {
		return nil, err
	}
	if err := t.restore(); err != nil {
		return nil, err
	}
	if err := t.peers.agree(ctx, t.step, t.facts()); err != nil {
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

// prepare checks the options, opens the folder and joins the model to the data.
func (t *training) prepare(evaluates bool, join func(o *Options) (*Subject, error)) (err error) {
	if err := t.o.check(evaluates); err != nil {
		return err
	}
	if !t.peers.follow() {
		if t.store, err = checkpoint.Open(t.dir); err != nil {
			return err
		}
	}
	if t.subject, err = join(t.o); err != nil {
		return err
	}
	if err := t.checkAllowed(); err != nil {
		return err
	}
	return t.prepareValues()
}

// prepareValues determines the contents of checkpoints.
func (t *training) prepareValues() (err error) {
	if t.averages, err = t.subject.averages(); err != nil {
		return err
	}
	if t.objects, err = t.subject.objectGraph(); err != nil {
		return err
	}
	t.fixed = append(t.subject.Values.Specs(),
		dtype.TensorSpec{Name: positionName, DType: dtype.String, Shape: dtype.ScalarShape()},
		dtype.TensorSpec{Name: stepName, DType: dtype.Int64, Shape: dtype.ScalarShape()})
	if t.objects != "" {
		if t.objects, err = checkpoint.AddSaveCounter(t.objects); err != nil {
			return err
		}
		t.fixed = append(t.fixed,
			dtype.TensorSpec{Name: savedmodel.ObjectGraphKey, DType: dtype.String, Shape: dtype.ScalarShape()},
			dtype.TensorSpec{Name: checkpoint.SaveCounter, DType: dtype.Int64, Shape: dtype.ScalarShape()})
	}
	t.saver = newSaver(t.store)
	// The first run of anything in a session takes tens of milliseconds. So make it
	// now: otherwise the first checkpoint would delay the steps.
	read, err := t.subject.Values.Read()
	checkpoint.CloseTensors(read)
	return t.subject.Error(err)
}

// announce reports the trained variables.
func (t *training) announce() error {
	if t.o.Objective == nil {
		return nil
	}
	trained, err := newTrained(t.subject, t.o.Objective.Variables)
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

// note passes a text for a person to the hooks.
func (t *training) note(text string) {
	if h := t.o.Hooks.Note; h != nil {
		h(text)
	}
}

// Names of the values in a checkpoint in addition to the variables.
const (
	stepName     = "millrace/step"  // int64: how many steps were made
	positionName = "millrace/input" // string: the position in the data; empty where it cannot be saved
)

// close frees the training's resources, but not the model.
func (t *training) close() {
	if t.saver != nil {
		t.saver.wait()
	}
	if t.store != nil {
		t.store.Close()
	}
}

// run makes the steps and the last checkpoint.
func (t *training) run(ctx context.Context) (*Result, error) {
	t.result.Loss = math.NaN()
	err := t.loop(ctx)
	if err == nil {
		err = t.finish(context.WithoutCancel(ctx))
	}
	t.result.Step, t.result.Steps = t.step, t.clock.total.Steps
	t.result.Examples, t.result.Duration, t.result.InputWait = t.clock.total.Examples, t.clock.total.Duration, t.clock.total.InputWait
	if err == nil && t.result.Reason == EndedByContext {
		err = millrace.Canceled(ctx, "training")
	}
	return &t.result, err
}
