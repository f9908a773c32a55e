package steps

import (
	"sync"

	"millrace/observe"
)

// Options determine what a run fetches and when its steps are made. Nil and the zero
// value fetch the tensors of the input.
type Options struct {
	Fetch []NamedOutput // nil: Input.Tensors
	Steps int64         // number of steps of the run; 0: until the data ends

	// Share is the part of the batches that the steps take; the zero value: all.
	Share Share

	Ahead    int         // steps made before the consumer requests them; 0: 1
	OnDemand bool        // a step is made when the consumer requests it, never ahead: for steps that change variables
	Lock     sync.Locker // held while a step is made; nil: none

	SaveEvery int64  // interval in batches at which [Batch.State] returns a state; 0: never
	State     []byte // state to continue from; nil: the start

	// Places makes each batch return the records of its rows: see [Batch.Places]. The run
	// ends with an error at once if the input cannot provide them.
	Places bool

	// PrepareSave prepares [Batch.SaveState] before the first step. Otherwise its first
	// call takes about a hundred times as long as later ones.
	PrepareSave bool

	// Trace selects the steps to trace, counted from 1; see [Batch.Trace]. A traced
	// step takes longer. Nil: none.
	Trace func(step int64) bool

	// CollectiveKey is the key of the collective operations that a step contains; see
	// tfbridge.RunOptions. 0: it contains none.
	CollectiveKey int64

	// Gate stands between the input and the model joined to it; nil: no model is
	// joined. Joined converts the error of a step that failed after the gate; nil: the
	// error stays unchanged.
	Gate   *Gate
	Joined func(err error) error

	// Observe receives batches, stalls, retries and bad records; nil: no listener. Source
	// and Signature are the names in these events.
	Observe           *observe.Listener
	Source, Signature string
}
