package estimator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// Outputs are tensors of a graph that feed a model.
type Outputs struct {
	// Tensors are the tensors of the next batch by name. Each step computes
	// them once. When an operation behind them fails with code
	// tfbridge.OutOfRange the data has ended, as with a queue that is closed.
	Tensors map[string]tfbridge.Output

	// Init runs at the start of each run, with Feeds for the placeholders that
	// it needs: to start an iterator, to fill a variable. Nil: nothing.
	Init  []*tfbridge.Operation
	Feeds map[tfbridge.Output]*tfbridge.Tensor
}

// FromOutputs returns the source of any tensors: a constant, a variable, what a
// queue or a reader gives. The function build adds what computes them to the
// graph of s, which is the model's.
//
// Many such sources have no end; RunOptions.Steps ends a run over them. Their
// position cannot be saved.
func FromOutputs(build func(s *graph.Scope) *Outputs) Source {
	return sourceFunc(func(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
		o := build(s)
		if o == nil || len(o.Tensors) == 0 {
			return nil, errors.Join(s.Err(), millrace.Errorf(millrace.ErrModel, "the source gives no tensors"))
		}
		return newGraphPipeline(s, slices.Sorted(maps.Keys(o.Tensors)), o)
	})
}

// newGraphPipeline returns the pipeline of tensors that the graph itself
// computes.
func newGraphPipeline(s *graph.Scope, names []string, o *Outputs) (*steps.Pipeline, error) {
	alive := s.Const(true)
	if err := s.Err(); err != nil {
		return nil, err
	}
	in := steps.Input{Tensors: namedOutputs(names, o.Tensors)}
	in.Open = func(ctx context.Context, sess *tfbridge.Session, run *steps.Options) (steps.Pass, error) {
		if err := refuseState(run); err != nil {
			return nil, err
		}
		if len(o.Init) > 0 {
			if _, err := sess.Run(o.Feeds, nil, o.Init); err != nil {
				return nil, fmt.Errorf("start the source: %w", err)
			}
		}
		return &graphPass{sess: sess, alive: alive}, nil
	}
	return steps.New(in), nil
}

func namedOutputs(names []string, outputs map[string]tfbridge.Output) []steps.NamedOutput {
	named := make([]steps.NamedOutput, len(names))
	for i, name := range names {
		named[i] = steps.NamedOutput{Name: name, Output: outputs[name]}
	}
	return named
}

// refuseState refuses to save or restore a position.
func refuseState(o *steps.Options) error {
	if o.SaveEvery > 0 || o.State != nil {
		return millrace.Errorf(millrace.ErrCheckpoint, "the position of this source cannot be saved; that of a loader can")
	}
	return nil
}

// graphPass is a pass over data that comes from the graph.
type graphPass struct {
	sess  *tfbridge.Session
	alive tfbridge.Output // a constant
}

// Next returns no values.
func (p *graphPass) Next(context.Context) ([]*tfbridge.Tensor, error) { return nil, nil }

// Taken saves nothing.
func (p *graphPass) Taken(int64) ([]byte, error) { return nil, nil }

// Failed tells the end of the data from a failure. A session that was closed
// ends its iterators with the same code, so that a constant is fetched too.
func (p *graphPass) Failed(_ context.Context, err error) error {
	if !errors.Is(err, tfbridge.OutOfRange) {
		return fmt.Errorf("read the source: %w", err)
	}
	values, err := p.sess.Run(nil, []tfbridge.Output{p.alive}, nil)
	if err != nil {
		return err
	}
	values[0].Close()
	return io.EOF
}

// Close does nothing.
func (p *graphPass) Close() {}
