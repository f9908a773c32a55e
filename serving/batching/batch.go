package batching

import (
	"context"
	"errors"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// batch is parts of requests that are run together.
type batch struct {
	queue  *queue
	parts  []*part
	rows   int64 // sum of the rows of the parts
	size   int64 // number of rows with which the model is run
	alone  bool  // its only request runs as it is; see alone.go
	apart  bool  // outputs had no rows, so each part was run alone
	waited time.Duration
	took   time.Duration

	inPlace  bool // it runs in the goroutine of its caller; see inplace.go
	deserted bool // all requests have left, and another goroutine has its thread
	over     bool // it has run; the scheduler's lock guards both

	pressed bool          // the number of rows of the batch was chosen
	began   time.Duration // machineShare.total at the start

	formed, called, returned, ended time.Time // times for traces; called is zero if the model was not called

	err  error
	errs []error // errors of the parts, if err does not apply to all; see blame

	ctx     context.Context // done when every request has left
	cancel  context.CancelCauseFunc
	present int           // requests that have not left; the scheduler's lock guards it
	joined  chan struct{} // closed when the tensors of the requests are no longer read
}

// errLeft is the reason why a batch is canceled after all its requests have left.
var errLeft = errors.New("nobody waits for the batch any more")

// newBatch returns an empty batch.
func newBatch(q *queue, waited time.Duration) *batch {
	b := &batch{queue: q, waited: waited, joined: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b
}

// runContext is the context of a batch's run, with the latest deadline of its requests.
// It needs no timer: a request leaves at its deadline, and with the last one the batch
// is canceled.
type runContext struct {
	context.Context
	deadline time.Time
}

// Deadline returns when the batch is canceled at the latest, if every request has a
// deadline.
func (c runContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// runContext returns the context for the model.
func (b *batch) runContext() context.Context {
	c := runContext{Context: b.ctx}
	if b.inPlace {
		c.Context = tfbridge.InPlace(b.ctx)
	}
	for _, p := range b.parts {
		d := p.request.deadline
		if d.IsZero() {
			return c.Context
		}
		if d.After(c.deadline) {
			c.deadline = d
		}
	}
	return c
}

// add adds the next rows of a request.
func (b *batch) add(r *request, rows int64) {
	p := &r.room.first
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

// leave records that a request of the batch has left.
func (b *batch) leave() {
	if b.present--; b.present == 0 {
		b.cancel(errLeft)
	}
}

// run joins the parts, runs the model, and shares the results.
func (b *batch) run() {
	began := time.Now()
	if b.size = b.rows; !b.alone {
		b.size = b.queue.size(b.rows)
	}
	b.err = b.compute()
	b.ended = time.Now()
	b.took = b.ended.Sub(began)
}

// info describes the batch, after it was run.
func (b *batch) info() BatchInfo {
	return BatchInfo{
		Requests: len(b.parts), Rows: int(b.rows), Padding: int(b.size - b.rows),
		Waited: b.waited, Took: b.took, Err: b.err,
	}
}

// compute runs the model and gives each part its outcome.
func (b *batch) compute() error {
	inputs, made, err := b.join()
	close(b.joined)
	if err != nil {
		return err
	}
	if made {
		defer closeAll(inputs)
	}
	outputs, err := b.call(inputs)
	if err != nil && len(b.parts) > 1 {
		b.blame(inputs, err)
	}
	if err != nil {
		return err
	}
	if b.alone || len(b.parts) == 1 && b.size == b.rows { // the outputs are this request's, with rows or without
		share(b.parts, outputs, b.size)
		return nil
	}
	if err := b.queue.signature.checkOutputs(outputs, b.size); err != nil {
		closeAll(outputs)
		b.separate(inputs)
		return nil
	}
	share(b.parts, outputs, b.size)
	return nil
}

// join returns the inputs of the batch. If made is true the caller closes them. Otherwise they
// are the inputs of the only request, which closes them.
func (b *batch) join() (inputs []*tfbridge.Tensor, made bool, err error) {
	first := b.parts[0].request
	inputs = make([]*tfbridge.Tensor, len(first.inputs))
	if len(b.parts) == 1 && b.parts[0].whole() && b.size == b.rows && first.inputs[0].isTensor {
		for i := range inputs {
			inputs[i] = first.inputs[i].tensor
		}
		return inputs, false, nil
	}
	for i := range inputs {
		if b.alone {
			inputs[i], err = first.inputs[i].copied()
		} else {
			inputs[i], err = b.queue.joinInput(b.parts, i, b.size)
		}
		if err != nil {
			closeAll(inputs)
			return nil, false, err
		}
	}
	return inputs, true, nil
}

// call runs the model. A panic becomes an error.
func (b *batch) call(inputs []*tfbridge.Tensor) (outputs []*tfbridge.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = millrace.Errorf(millrace.ErrInternal, "the model's call panicked: %v", p)
		}
	}()
	b.called = time.Now()
	outputs, err = b.queue.signature.call(b.runContext(), inputs)
	b.returned = time.Now()
	return outputs, err
}

// joinInput returns input i of a batch: the rows of its parts, or an input that they
// share.
func (q *queue) joinInput(parts []*part, i int, size int64) (*tfbridge.Tensor, error) {
	if q.signature.shared[q.signature.inputs[i]] {
		return parts[0].request.inputs[i].copied()
	}
	if is := q.signature.composites.roles[i]; is != plain {
		return joinComposite(parts, i, is)
	}
	return joinRows(parts, i, size)
}

// cutInput returns some rows of input i of a batch, filled up to size, or a copy of an
// input that all rows share.
func (q *queue) cutInput(inputs []*tfbridge.Tensor, i int, start, rows, size int64) (*tfbridge.Tensor, error) {
	if q.signature.shared[q.signature.inputs[i]] {
		o := tensorOperand(inputs[i])
		return o.copied()
	}
	if q.signature.composites.roles[i] != plain {
		return q.signature.composites.cut(inputs, i, start, rows)
	}
	return fillRows(inputs[i], start, rows, size)
}
