package batching

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Batcher runs one signature of a model on batches of requests. Many goroutines may use
// it. [Batcher.Close] ends it; it does not close the model.
type Batcher struct {
	signature *signature
	options   Options
	queue     *queue
}

// New returns a Batcher of a signature; "" stands for [graph.DefaultSignature]. Each
// output, and each input that is not of [Options.SharedInputs], must have the rows of a
// batch as its first dimension: a signature with other shapes is an error of class
// millrace.ErrModel.
func New(m Model, signature string, o *Options) (*Batcher, error) {
	options, err := o.complete()
	if err != nil {
		return nil, err
	}
	if options.Scheduler == nil {
		options.Scheduler = NewScheduler(0)
	}
	sig, err := newSignature(m, cmp.Or(signature, graph.DefaultSignature), &options)
	if err != nil {
		return nil, err
	}
	b := &Batcher{signature: sig, options: options}
	b.queue = newQueue(sig, &b.options)
	return b, nil
}

// Predict runs the signature on the rows of inputs, together with rows of other
// goroutines. outputs names the outputs to return; none stands for all. Inputs and
// results are as those of [graph.Model.Call]. All inputs have the same first dimension,
// the number of rows, and so have the results. A request whose inputs differ in their
// first dimension, or that has more rows than a batch, runs alone. The caller closes
// the results, and keeps the inputs.
//
// When ctx is done Predict returns at once, with an error of class
// millrace.ErrCanceled, and rows that are not yet computed are dropped. When too many
// rows wait, Predict returns at once, with an error of class millrace.ErrOverloaded.
func (b *Batcher) Predict(ctx context.Context, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	if b == nil || b.queue == nil {
		return nil, millrace.Errorf(millrace.ErrClosed, "there is no batcher: it is nil or a zero value")
	}
	if ctx.Err() != nil {
		return nil, millrace.Canceled(ctx, "")
	}
	for _, name := range outputs {
		if !slices.Contains(b.signature.outputs, name) {
			return nil, b.signature.tensorErrorf(name, "no such output; the signature has %q", b.signature.outputs)
		}
	}
	r, made, err := b.newRequest(inputs)
	defer closeAll(made)
	if err != nil {
		return nil, err
	}
	if err := b.await(ctx, r); err != nil {
		return nil, err
	}
	defer r.end()
	return b.answer(r, outputs)
}

// await waits until a request is computed. If it returns nil, the caller ends the
// request.
func (b *Batcher) await(ctx context.Context, r *request) error {
	r.deadline, _ = ctx.Deadline()
	r.priority = PriorityOf(ctx)
	mine, err := b.options.Scheduler.submit(b.queue, r)
	if err != nil {
		return err
	}
	if mine {
		b.runHere(ctx, r)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if b.leave(r) {
			return millrace.Canceled(ctx, "")
		}
	}
	r.trace(ctx)
	return r.err
}

// Admit returns the error with which Predict would now refuse a request of one row,
// because too many rows wait. It lets a server refuse requests before it decodes them.
func (b *Batcher) Admit() error {
	s := b.options.Scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.queue.admit(1, NormalPriority, time.Time{})
}

// newRequest checks the inputs and returns their request. The caller closes the tensors
// that were made from Go values.
func (b *Batcher) newRequest(inputs map[string]any) (r *request, made []*tfbridge.Tensor, err error) {
	for name := range inputs {
		if _, ok := b.signature.infos.Inputs[name]; !ok {
			return nil, made, b.signature.tensorErrorf(name, "no such input; the signature has %q", b.signature.inputs)
		}
	}
	r = b.options.Scheduler.newRequest()
	for _, name := range b.signature.inputs {
		value, ok := inputs[name]
		if !ok {
			return nil, made, b.signature.tensorErrorf(name, "the input is missing")
		}
		t, isTensor := value.(*tfbridge.Tensor)
		if !isTensor {
			if t, err = graph.InputTensor(b.signature.infos.Inputs[name], value); err != nil {
				return nil, made, b.signature.tensorErrorf(name, "%w", err)
			}
			made = append(made, t)
		}
		if err := b.addInput(r, name, tensorOperand(t)); err != nil {
			return nil, made, err
		}
	}
	return r, made, b.checkRows(r)
}

// addInput adds the next input to a request.
func (b *Batcher) addInput(r *request, name string, o operand) error {
	if err := b.signature.checkInput(name, &o); err != nil {
		return err
	}
	r.inputs = append(r.inputs, o)
	if b.signature.shared[name] {
		var err error
		r.key, err = appendContent(r.key, &o)
		return err
	}
	if is := b.signature.composites.roles[len(r.inputs)-1]; is != plain {
		return r.addComposite(&o, is)
	}
	r.countRows(&o)
	if !r.alone {
		r.key = appendKey(r.key, &o, b.options.PadVariableLengthInputs && o.fits(b.signature.infos.Inputs[name].Shape))
	}
	return nil
}

// leave makes a request leave. It returns false if the request is done. After it has
// returned, nothing reads the request's tensors any more.
func (b *Batcher) leave(r *request) bool {
	s := b.options.Scheduler
	s.mu.Lock()
	batches, left := b.queue.leave(r)
	s.mu.Unlock()
	for _, in := range batches {
		<-in.joined
	}
	return left
}

// answer returns the results of a request that is done.
func (b *Batcher) answer(r *request, outputs []string) (map[string]*tfbridge.Tensor, error) {
	results := make(map[string]*tfbridge.Tensor, len(b.signature.outputs))
	for i, name := range b.signature.outputs {
		if len(outputs) > 0 && !slices.Contains(outputs, name) {
			continue
		}
		t, err := r.take(i)
		if err != nil {
			closeAll(slices.Collect(maps.Values(results)))
			return nil, b.signature.tensorErrorf(name, "%w", err)
		}
		results[name] = t
	}
	return results, nil
}

// Waiting returns how many requests wait for a batch, and how many rows they have.
func (b *Batcher) Waiting() (requests, rows int) {
	s := b.options.Scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.queue.waiting, int(b.queue.rows)
}

// OldestWait returns how long the oldest request that waits for a batch has waited, 0 if none
// waits.
func (b *Batcher) OldestWait() time.Duration {
	s := b.options.Scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest time.Duration
	for _, g := range b.queue.groups {
		oldest = max(oldest, time.Since(g.head().enqueued))
	}
	return oldest
}

// Close refuses new requests, waits until the accepted ones are answered, and returns.
// It is idempotent.
func (b *Batcher) Close() error {
	if b == nil || b.queue == nil {
		return nil
	}
	s := b.options.Scheduler
	s.mu.Lock()
	b.queue.closed = true
	b.queue.checkDrained()
	s.dispatch() // groups no longer wait for others
	s.mu.Unlock()
	<-b.queue.drained
	return nil
}

// checkRows decides whether a request with complete inputs runs alone, and as how many
// rows it then counts.
func (b *Batcher) checkRows(r *request) error {
	if err := b.signature.composites.count(r); err != nil {
		return err
	}
	most, whole := int64(b.options.MaxBatchSize), b.signature.composites.any()
	if r.rows > most && !b.options.EnableLargeBatchSplitting || whole && r.rows > int64(b.options.MaxExecutionBatchSize) {
		r.alone = true
	}
	if r.alone {
		r.rows = min(max(r.rows, 1), most)
	}
	return nil
}
