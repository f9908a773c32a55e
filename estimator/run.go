package estimator

import (
	"context"
	"errors"
	"iter"
	"sync"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// predictAhead is how many steps Predict runs ahead of its loop: enough that the model
// computes while the loop writes the last results.
const predictAhead = 2

// RunOptions says how to run a pipeline. Nil and the zero value run over all
// data of the source, one step ahead of the loop.
type RunOptions struct {
	Ahead int   // number of steps to run ahead of the loop; 0: 1; steps that change variables never run ahead
	Steps int64 // the run ends after this many steps; 0: at the end of the source

	SaveEvery int64  // interval, in steps, at which [Batch.State] holds the position in the source; 0: never
	State     []byte // the position to continue from; nil: the start of the source

	// Places makes [Batch.Places] return the record of each row. The run ends with an error
	// at once if the source cannot provide it.
	Places bool

	// Trace says which steps to trace, counted from 1 in this run; [Batch.Trace]
	// then returns the trace. Nil: none.
	Trace func(step int64) bool
}

// Run runs the signature over the batches of the source, in order, one session
// run per step. A batch holds the signature's outputs by name, then the kept
// tensors. It is valid until the next iteration; call [Batch.Keep] to hold on
// to it. An error comes last and once, with a nil batch. Ranging again starts
// at the beginning of the data, with the current values of the variables.
//
// [Model] says what may run at the same time.
func (p *Pipeline) Run(ctx context.Context, o *RunOptions) iter.Seq2[*Batch, error] {
	if o == nil {
		o = &RunOptions{}
	}
	return p.run(ctx, &steps.Options{Steps: o.Steps, Ahead: o.Ahead, SaveEvery: o.SaveEvery, State: o.State, Trace: o.Trace, Places: o.Places})
}

// run is Run with the options of package steps. It adds those about the model.
func (p *Pipeline) run(ctx context.Context, o *steps.Options) iter.Seq2[*Batch, error] {
	o.Fetch, o.Gate, o.Joined, o.Lock = p.fetch, p.gate, p.modelError, p.model.variables.RLocker()
	o.Observe, o.Source, o.Signature = p.model.options.Observe, p.model.dir, p.signature.Name
	o.CollectiveKey = p.collective
	if p.changes {
		o.OnDemand, o.Lock = true, &p.model.variables
	}
	return p.input.Run(ctx, p.model.model.Session(), o)
}

// modelError returns the error of a step in which the model failed.
func (p *Pipeline) modelError(err error) error {
	var failed *tfbridge.Error
	if !errors.As(err, &failed) {
		return err
	}
	return graph.ModelError(p.model.dir, p.signature.Name, failed)
}

// PredictOptions says what Predict runs and yields. Nil and the zero value mean
// the outputs of the model's first signature.
type PredictOptions = JoinOptions

// Predict joins a signature to a source and runs it over all of the source's
// data: [Model.Join] and [Pipeline.Run] in one call. Ranging again starts at
// the beginning of the data and adds nothing to the graph.
func (m *Model) Predict(ctx context.Context, src Source, o *PredictOptions) iter.Seq2[*Batch, error] {
	join := sync.OnceValues(func() (*Pipeline, error) { return m.Join(ctx, src, o) })
	return func(yield func(*Batch, error) bool) {
		pipe, err := join()
		if err != nil {
			yield(nil, err)
			return
		}
		pipe.Run(ctx, &RunOptions{Ahead: predictAhead})(yield)
	}
}
