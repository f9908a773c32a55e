package steps

import (
	"context"
	"sync/atomic"

	"millrace"
)

// Pipeline is an input in a graph. One run at a time may read it. [New] makes one. Its
// methods may be called concurrently.
type Pipeline struct {
	input   Input
	reading atomic.Bool                   // a run is being ranged over
	ended   atomic.Pointer[chan struct{}] // closed when the producer of the last run has ended
}

// New returns the pipeline of an input.
func New(input Input) *Pipeline { return &Pipeline{input: input} }

// Tensors returns the tensors of the next batch, in the input's order.
func (p *Pipeline) Tensors() []NamedOutput { return p.input.Tensors }

// Tensor returns the tensor of a name, and whether there is one.
func (p *Pipeline) Tensor(name string) (NamedOutput, bool) {
	for _, t := range p.input.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return NamedOutput{}, false
}

// acquire makes the caller the only reader of the pipeline. The producer of a canceled
// run may still be at its last step. The caller waits for that, since the step would
// otherwise take the first batch of the new run.
func (p *Pipeline) acquire(ctx context.Context) error {
	if !p.reading.CompareAndSwap(false, true) {
		return millrace.Errorf(millrace.ErrClosed, "another loop is reading this pipeline")
	}
	if err := p.Wait(ctx); err != nil {
		p.release()
		return err
	}
	return nil
}

func (p *Pipeline) release() { p.reading.Store(false) }

// Wait waits until nothing of an earlier run is in flight. A run that ended
// because its context did leaves its last step running; closing the session
// ends that.
func (p *Pipeline) Wait(ctx context.Context) error {
	ended := p.ended.Load()
	if ended == nil {
		return nil
	}
	select {
	case <-*ended:
		return nil
	case <-ctx.Done():
		return millrace.Canceled(ctx, "")
	}
}
