package steps

import (
	"context"
	"errors"
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// Batch is the result of one step: tensors by name. It is valid until the next
// iteration of the sequence that yielded it, unless [Batch.Keep] was called. A batch is
// not safe for concurrent use; its tensors may be read concurrently.
type Batch struct {
	names   []string
	tensors []*tfbridge.Tensor
	rows    int64
	kept    bool
	inputs  []string // names of the model's inputs; nil: unknown
	state   []byte
	trace   *tfbridge.RunMetadata
	places  []RecordPlace                                         // nil unless Options.Places
	place   func(rows int64) string                               // nil: unknown, or the run is not on demand
	save    func(context.Context) (func() ([]byte, error), error) // nil unless the run is on demand
}

// Names returns the names of the tensors in the order in which they were requested: for
// a loader, the order of its config.
func (b *Batch) Names() []string { return b.names }

// Tensor returns the tensor of a name, nil if there is none. The batch owns
// it: do not close it.
func (b *Batch) Tensor(name string) *tfbridge.Tensor {
	for i, n := range b.names {
		if n == name {
			return b.tensors[i]
		}
	}
	return nil
}

// Inputs returns the tensors that the model takes, by name: the tensors of the batch
// whose names are inputs of the model that the source was checked for. It is nil if the
// source was not checked for a model. The batch owns the tensors.
func (b *Batch) Inputs() map[string]*tfbridge.Tensor { return b.divide(true) }

// Targets returns the other tensors of the batch by name, such as labels to compare the
// model's outputs with. It is nil if no model was checked for the source. The batch owns the tensors.
func (b *Batch) Targets() map[string]*tfbridge.Tensor { return b.divide(false) }

// divide returns the tensors that are inputs of the model, or those that are not.
func (b *Batch) divide(inputs bool) map[string]*tfbridge.Tensor {
	if b.inputs == nil {
		return nil
	}
	part := map[string]*tfbridge.Tensor{}
	for i, name := range b.names {
		if slices.Contains(b.inputs, name) == inputs {
			part[name] = b.tensors[i]
		}
	}
	return part
}

// Rows returns the number of examples in the batch.
func (b *Batch) Rows() int64 { return b.rows }

// State returns the position after the batch, for [Options.State], perhaps in another
// process. It is nil if the run does not save it with this batch (see
// [Options.SaveEvery]). It includes the elements that are buffered for shuffling.
func (b *Batch) State() []byte { return b.state }

// Trace returns TensorFlow's trace of the step, nil unless [Options.Trace] requested
// it.
func (b *Batch) Trace() *tfbridge.RunMetadata { return b.trace }

// Place describes the records in the batch for a person to read: files and record
// numbers. It returns "" if the source does not know them, for example because it
// shuffles, and if the run is not on demand ([Options.OnDemand]). Call it in the loop's
// body for the batch.
func (b *Batch) Place() string {
	if b.place == nil {
		return ""
	}
	return b.place(b.rows)
}

// RecordPlace is the location of a row's record.
type RecordPlace struct {
	File   string // the file's name as the input received it
	Record int64  // number of the record in the file, from 0; for a window, its first record
}

// Places returns the location of each row's record, in the order of the rows. It is nil
// unless [Options.Places] requested it. The producer computes it, so the call is cheap.
// The slice may be read concurrently and stays valid after the batch.
func (b *Batch) Places() []RecordPlace { return b.places }

// ErrNoPosition is the error of [Batch.SaveState] for an input whose position
// cannot be saved, and for a run that is not on demand.
var ErrNoPosition = errors.New("the position in this source cannot be saved")

// SaveState captures the state that [Batch.State] would return, at any batch of a run
// on demand ([Options.OnDemand]). Call it in the loop's body for the batch, before the
// input takes a later batch. The loop may continue as soon as it returns, while another
// goroutine calls encode for the bytes. Encode must be called exactly once: it frees
// the captured state.
//
// When ctx ends, SaveState returns an error of class millrace.ErrCanceled. An input
// whose threads wait for data can only be saved after the data has arrived. Other
// errors are of class millrace.ErrCheckpoint; errors.Is distinguishes [ErrNoPosition]
// from the others.
func (b *Batch) SaveState(ctx context.Context) (encode func() ([]byte, error), err error) {
	if b.save == nil {
		return nil, millrace.Errorf(millrace.ErrCheckpoint, "%w", ErrNoPosition)
	}
	return b.save(ctx)
}

// Keep makes the batch survive the next iteration. The caller then closes it.
func (b *Batch) Keep() { b.kept = true }

// Close frees the tensors. Only a batch that was kept needs it.
func (b *Batch) Close() error {
	var errs []error
	for _, t := range b.tensors {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	b.tensors = nil
	return errors.Join(errs...)
}

// release closes a batch unless Keep was called.
func (b *Batch) release() {
	if b != nil && !b.kept {
		b.Close()
	}
}
