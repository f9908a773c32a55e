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
	// Tensors are the tensors of a batch by name. Each step computes them once.
	// An operation among them that fails with code tfbridge.OutOfRange ends the
	// data, as a closed queue does.
	Tensors map[string]tfbridge.Output

	// Init runs at the start of each run, with Feeds for the placeholders that
	// it needs: to start an iterator or to set a variable. The scope's initializers
	// run along with it.
	Init  []*tfbridge.Operation
	Feeds map[tfbridge.Output]*tfbridge.Tensor
}

// FromOutputs returns a source of arbitrary tensors of the graph: a constant, a
// variable, the elements of a queue or a reader. The function build adds the
// operations that compute them to the graph of s, which is the model's.
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
		if first := slices.Concat(s.Initializers(), o.Init); len(first) > 0 {
			if _, err := sess.Run(o.Feeds, nil, first); err != nil {
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
		return millrace.Errorf(millrace.ErrCheckpoint, "the position of this source cannot be saved; use a loader, whose position can")
	}
	return nil
}

// graphPass is a pass over data that comes from the graph.
type graphPass struct {
	sess  *tfbridge.Session
	alive tfbridge.Output // a constant, to test whether the session is open
}

// Next returns no values.
func (p *graphPass) Next(context.Context) ([]*tfbridge.Tensor, error) { return nil, nil }

// Taken saves nothing.
func (p *graphPass) Taken(int64) ([]byte, error) { return nil, nil }

// Failed distinguishes the end of the data from a failure. A closed session ends its
// iterators with the same status code as the end of the data, so Failed also fetches a
// constant, which fails only if the session is closed.
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
