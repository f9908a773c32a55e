package steps

import (
	"context"

	"millrace/tfbridge"
)

// NamedOutput is a tensor of a graph under the name that its users know.
type NamedOutput struct {
	Name   string
	Output tfbridge.Output
}

// Input describes an input pipeline within a graph.
//
// Each session run that fetches any of Tensors, or Rows, takes the next batch; all
// tensors that one run fetches belong to the same batch. The first dimension of every
// tensor is the batch's; a scalar is a batch of one row.
type Input struct {
	Tensors []NamedOutput

	// ModelInputs are the names of Tensors that a model takes, for [Batch.Inputs]. Nil:
	// the input was not checked for a model.
	ModelInputs []string

	// Rows is an int64 scalar, the rows of the batch, for steps that fetch none
	// of Tensors. The zero Output: the first tensor is fetched and counted.
	Rows tfbridge.Output

	// Positions is an int64 vector with the position of each row of the batch in the
	// input's order, for an input that needs them for its state: see [Positioner]. The
	// zero
	// Output: there are none.
	Positions tfbridge.Output

	// BatchRows is the number of rows of a batch, for an input that may return several
	// batches in one run of the session, one after the other; only the last may have
	// fewer. All its tensors must be numbers. 0: each run returns one batch.
	BatchRows int64

	// Placeholders are fed with what [Pass.Next] returns. Nil: the input reads
	// its data by itself.
	Placeholders []tfbridge.Output

	// Open starts a pass over the data: from the beginning, or from
	// Options.State. It may block; the producer calls it.
	Open func(ctx context.Context, sess *tfbridge.Session, o *Options) (Pass, error)
}

// Pass is one pass over the data of an input, in one session. One goroutine at
// a time calls its methods.
type Pass interface {
	// Next returns the values of Input.Placeholders for the next step, or io.EOF at the
	// end of the values. The pass owns the values, which stay valid until the next
	// call. An input without placeholders returns nil, nil.
	Next(ctx context.Context) ([]*tfbridge.Tensor, error)

	// Taken is called for each batch of a step. It returns the state of the input after
	// the batch if the options request it, else nil.
	Taken(rows int64) (state []byte, err error)

	// Failed classifies the error of a step in which the input failed: nil means that
	// the step is to be repeated, io.EOF that the data has ended, and anything else is
	// the error that the consumer gets.
	Failed(ctx context.Context, err error) error

	// Close ends the pass.
	Close()
}

// Positioner is a [Pass] of an input with [Input.Positions].
type Positioner interface {
	// TakenAt passes the positions of the rows for the next call of [Pass.Taken]. The
	// pass must not keep the slice.
	TakenAt(positions []int64) error
}

// Placer is a [Pass] that may know which records its batches contain.
type Placer interface {
	// Place describes the records of the last rows taken, for a person to read: files
	// and record numbers. It returns "" if they are unknown.
	Place(rows int64) string
}

// Locator is a [Pass] of an input whose rows are records of files.
type Locator interface {
	// Places returns the locations of the records of the last rows taken. The run must
	// have [Options.Places].
	Places(rows int64) ([]RecordPlace, error)
}

// Saver is a [Pass] whose position can be saved between any two batches.
type Saver interface {
	// SaveState captures the state of the input after the batches taken so far. The
	// input may continue when it returns. Encode then returns the bytes of that state,
	// in any goroutine. It is called once.
	SaveState(ctx context.Context) (encode func() ([]byte, error), err error)
}
