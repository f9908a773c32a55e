package batching

import (
	"context"
	"sync"

	"millrace"
	"millrace/tfbridge"
)

// Output is an output of a request: some rows of a tensor, whose other rows may belong
// to other requests. If the request ran alone, its outputs are whole tensors: Rows is
// their first dimension, 0 for a scalar.
type Output struct {
	Name   string
	Tensor *tfbridge.Tensor
	Start  int64 // the first of the rows
	Rows   int64
}

// InputNames returns the names of the inputs, in the order of [Batcher.PredictRows].
func (b *Batcher) InputNames() []string { return b.signature.inputs }

// PredictRows is a faster [Batcher.Predict]: the request has no separate tensors. Its
// rows are copied directly into the tensors of the batch, and read gets the outputs of
// the batch, in the order of their names, with the place of the request's rows.
//
// The inputs are in the order of [Batcher.InputNames]. Their bytes must not change until
// PredictRows returns. The outputs are valid until read returns; read must not
// change or close them. Its error is returned.
func (b *Batcher) PredictRows(ctx context.Context, inputs []Rows, read func([]Output) error) error {
	if b == nil || b.queue == nil {
		return millrace.Errorf(millrace.ErrClosed, "there is no batcher: it is nil or a zero value")
	}
	if ctx.Err() != nil {
		return millrace.Canceled(ctx, "")
	}
	r, err := b.newRowsRequest(inputs)
	if err != nil {
		return err
	}
	if err := b.await(ctx, r); err != nil {
		return err
	}
	defer r.end()
	if len(r.parts) > 1 {
		return b.readJoined(r, read)
	}
	p := r.parts[0]
	room := outputsPool.Get().(*[]Output)
	defer func() {
		clear(*room)
		outputsPool.Put(room)
	}()
	outputs := (*room)[:0]
	for i, name := range b.signature.outputs {
		o := Output{Name: name, Tensor: p.outcome.tensors[i], Start: p.at, Rows: p.rows}
		if p.outcome.whole {
			o.Rows = firstDimension(o.Tensor)
		}
		outputs = append(outputs, o)
	}
	*room = outputs
	return read(outputs)
}

// outputsPool has the memory for the outputs that requests get from their batches.
var outputsPool = sync.Pool{New: func() any { return &[]Output{} }}

// newRowsRequest checks the inputs and returns their request.
func (b *Batcher) newRowsRequest(inputs []Rows) (*request, error) {
	if want := b.signature.inputs; len(inputs) != len(want) {
		return nil, b.signature.errorf("got %d inputs; the signature has %q", len(inputs), want)
	}
	r := b.options.Scheduler.newRequest()
	for i, name := range b.signature.inputs {
		o, err := inputs[i].operand()
		if err != nil {
			return nil, b.signature.tensorErrorf(name, "%w", err)
		}
		if err := b.addInput(r, name, o); err != nil {
			return nil, err
		}
	}
	return r, b.checkRows(r)
}

// readJoined calls read with the outputs of a request that was split.
func (b *Batcher) readJoined(r *request, read func([]Output) error) error {
	var outputs []Output
	defer func() {
		for _, o := range outputs {
			o.Tensor.Close()
		}
	}()
	for i, name := range b.signature.outputs {
		t, err := r.take(i)
		if err != nil {
			return b.signature.tensorErrorf(name, "%w", err)
		}
		outputs = append(outputs, Output{Name: name, Tensor: t, Rows: r.rows})
	}
	return read(outputs)
}
