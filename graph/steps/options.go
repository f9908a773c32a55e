package steps

import (
	"sync"

	"millrace/observe"
)

// Options says what a run fetches and when its steps are made. Nil and the
// zero value fetch the tensors of the input.
type Options struct {
	Fetch []NamedOutput // nil: Input.Tensors
	Steps int64         // the run ends after so many; 0: with the data

	Ahead    int         // steps made before the consumer asks for them; 0: 1
	OnDemand bool        // a step is made when the consumer asks for it, never ahead: for steps that change variables
	Lock     sync.Locker // held while a step is made; nil: none

	SaveEvery int64  // every so many batches [Batch.State] tells where they end; 0: never
	State     []byte // such a state, to go on from; nil: the start

	// Places has each batch tell which records its rows are: see [Batch.Places]. The run
	// ends with an error at once if the input does not know.
	Places bool

	// PrepareSave makes ready, before the first step, what [Batch.SaveState]
	// needs. Otherwise its first call takes some hundred times as long as later ones.
	PrepareSave bool

	// Trace says which steps to trace, counted from 1; see [Batch.Trace]. A traced
	// step takes longer. Nil: none.
	Trace func(step int64) bool

	// Gate stands between the input and what is joined to it; nil: nothing is
	// joined. Joined returns the error of a step that failed behind the gate;
	// nil: the error as it is.
	Gate   *Gate
	Joined func(err error) error

	// Observe is told of batches, stalls, retries and bad records; nil: nobody.
	// Source and Signature are what it hears they belong to.
	Observe           *observe.Listener
	Source, Signature string
}
