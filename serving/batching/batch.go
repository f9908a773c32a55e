package batching

import (
	"context"
	"errors"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// batch is the parts of requests that are run together.
type batch struct {
	queue  *queue
	parts  []*part
	rows   int64 // of the parts
	size   int64 // with which the model is run
	waited time.Duration
	took   time.Duration

	formed, called, returned, ended time.Time // for traces; called is zero if the model was not

	results [][]*tfbridge.Tensor // of each part
	err     error
	errs    []error // of each part, if err was not the fault of all; see blame

	ctx     context.Context // done when every request has left
	cancel  context.CancelCauseFunc
	present int           // requests that have not left; the scheduler's lock guards it
	joined  chan struct{} // closed when the tensors of the requests are no longer read
}

// errLeft is why a batch of which every request has left is canceled.
var errLeft = errors.New("nobody waits for the batch any more")

// newBatch returns an empty batch.
func newBatch(q *queue, waited time.Duration) *batch {
	b := &batch{queue: q, waited: waited, joined: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b
}

// add adds the next rows of a request.
func (b *batch) add(r *request, rows int64) {
	p := &r.first
	if len(r.parts) > 0 {
		p = &part{}
	}
	*p = part{request: r, batch: b, start: r.taken, rows: rows}
	b.parts = append(b.parts, p)
	b.rows += rows
	b.present++
	r.parts = append(r.parts, p)
	r.taken += rows
	r.pending++
}

// leave notes that a request of the batch has left.
func (b *batch) leave() {
	if b.present--; b.present == 0 {
		b.cancel(errLeft)
	}
}

// run joins the parts, runs the model, and splits the results.
func (b *batch) run() {
	began := time.Now()
	b.size = b.queue.options.allowed(b.rows)
	b.err = b.compute()
	b.cancel(nil)
	b.ended = time.Now()
	b.took = b.ended.Sub(began)
}

// info describes the batch, which was run.
func (b *batch) info() BatchInfo {
	return BatchInfo{
		Requests: len(b.parts), Rows: int(b.rows), Padding: int(b.size - b.rows),
		Waited: b.waited, Took: b.took, Err: b.err,
	}
}

// compute notes the outputs of each part.
func (b *batch) compute() error {
	inputs, err := b.join()
	close(b.joined)
	if err != nil {
		return err
	}
	if len(b.parts) > 1 || inputs[0] != b.parts[0].request.inputs[0] {
		defer closeAll(inputs)
	}
	outputs, err := b.call(inputs)
	if err != nil && len(b.parts) > 1 {
		b.blame(inputs, err)
	}
	if err != nil {
		return err
	}
	if err := b.queue.signature.checkOutputs(outputs, b.size); err != nil {
		closeAll(outputs)
		return err
	}
	if len(b.parts) == 1 && b.size == b.rows {
		b.results = [][]*tfbridge.Tensor{outputs}
		return nil
	}
	defer closeAll(outputs)
	b.results, err = split(b.parts, outputs)
	return err
}

// join returns the inputs of the batch. Those of a request that is alone are the
// request's own.
func (b *batch) join() ([]*tfbridge.Tensor, error) {
	first := b.parts[0]
	if len(b.parts) == 1 && first.whole() && b.size == b.rows {
		return first.request.inputs, nil
	}
	inputs := make([]*tfbridge.Tensor, len(first.request.inputs))
	for i := range inputs {
		var err error
		if inputs[i], err = joinRows(b.parts, i, b.size); err != nil {
			closeAll(inputs)
			return nil, err
		}
	}
	return inputs, nil
}

// call runs the model. A panic becomes an error.
func (b *batch) call(inputs []*tfbridge.Tensor) (outputs []*tfbridge.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = millrace.Errorf(millrace.ErrInternal, "the model's call panicked: %v", p)
		}
	}()
	b.called = time.Now()
	outputs, err = b.queue.signature.call(b.ctx, inputs)
	b.returned = time.Now()
	return outputs, err
}

// split returns the rows of the outputs that belong to each part.
func split(parts []*part, outputs []*tfbridge.Tensor) ([][]*tfbridge.Tensor, error) {
	all := make([]*tfbridge.Tensor, len(parts)*len(outputs))
	results := make([][]*tfbridge.Tensor, len(parts))
	for i := range parts {
		results[i] = all[i*len(outputs) : (i+1)*len(outputs)]
	}
	for j, t := range outputs {
		shape := t.Shape()
		row, start := elements(shape[1:]), int64(0)
		for i, p := range parts {
			shape[0] = p.rows
			rows, err := filled(t.DataType(), shape, func(to *tfbridge.Tensor) error {
				return to.CopyElements(0, t, start*row, p.rows*row)
			})
			if err != nil {
				closeAll(all)
				return nil, err
			}
			results[i][j] = rows
			start += p.rows
		}
	}
	return results, nil
}
