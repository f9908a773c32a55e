package estimator

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// FromValues returns a source of values that the program makes. Each element of
// batches holds the tensors of one step by name. A tensor is a *tfbridge.Tensor
// or a Go value for [tfbridge.NewTensor]. The caller keeps ownership of a
// *tfbridge.Tensor, which must stay valid until the next element is requested.
// The specs declare the names, data types and shapes of the tensors; a
// dimension of -1 may vary.
//
// Each run ranges over batches from the beginning, in its own goroutine, which prefetches
// for the model. A sequence that waits should stop when the run's context is done. Its
// position cannot be saved.
//
// The values are copied into tensors. For data in files, a dataset of
// [millrace/graph/dataset] is faster.
func FromValues(specs map[string]graph.Spec, batches iter.Seq2[map[string]any, error]) Source {
	return sourceFunc(func(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
		if len(specs) == 0 {
			return nil, millrace.Errorf(millrace.ErrModel, "the source gives no tensors")
		}
		names := slices.Sorted(maps.Keys(specs))
		in := steps.Input{}
		for _, name := range names {
			placeholder := s.Placeholder(specs[name].DType, specs[name].Shape)
			in.Placeholders = append(in.Placeholders, placeholder)
			// TensorFlow cannot fetch a placeholder that is fed.
			in.Tensors = append(in.Tensors, steps.NamedOutput{Name: name, Output: graph.Identity(s, placeholder)})
		}
		in.Open = func(_ context.Context, _ *tfbridge.Session, run *steps.Options) (steps.Pass, error) {
			if err := refuseState(run); err != nil {
				return nil, err
			}
			p := &valuesPass{names: names}
			p.next, p.stop = iter.Pull2(batches)
			return p, nil
		}
		return steps.New(in), s.Err()
	})
}

// valuesPass is a pass over values of the program.
type valuesPass struct {
	names []string
	next  func() (map[string]any, error, bool)
	stop  func()
	made  []*tfbridge.Tensor // the tensors of the last step that free closes
}

// Next returns the tensors of the next element.
func (p *valuesPass) Next(context.Context) (_ []*tfbridge.Tensor, err error) {
	p.free()
	defer func() {
		if v := recover(); v != nil {
			err = millrace.Errorf(millrace.ErrInternal, "the source panics: %v", v)
		}
	}()
	element, err, ok := p.next()
	switch {
	case !ok:
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("read the source: %w", err)
	}
	for name := range element {
		if !slices.Contains(p.names, name) {
			return nil, millrace.Errorf(millrace.ErrModel, "the source gives a tensor %q without a spec; it has specs for %q", name, p.names)
		}
	}
	values := make([]*tfbridge.Tensor, len(p.names))
	for i, name := range p.names {
		if values[i], err = p.tensor(name, element[name]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// tensor returns the tensor of a value.
func (p *valuesPass) tensor(name string, value any) (*tfbridge.Tensor, error) {
	if t, ok := value.(*tfbridge.Tensor); ok {
		return t, nil
	}
	if value == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the source gives no tensor %q", name)
	}
	t, err := tfbridge.NewTensor(value)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "tensor %q of the source: %w", name, err)
	}
	p.made = append(p.made, t)
	return t, nil
}

// free closes the tensors of the last step.
func (p *valuesPass) free() {
	for _, t := range p.made {
		t.Close()
	}
	p.made = p.made[:0]
}

// Taken saves nothing.
func (p *valuesPass) Taken(int64) ([]byte, error) { return nil, nil }

// Failed returns err. Fed values cannot fail in the graph, so err comes from
// feeding them.
func (p *valuesPass) Failed(_ context.Context, err error) error { return err }

// Close ends the sequence.
func (p *valuesPass) Close() {
	p.free()
	p.stop()
}
