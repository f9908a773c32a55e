package training

import (
	"millrace/dtype"
	"millrace/estimator/checkpoint"
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
