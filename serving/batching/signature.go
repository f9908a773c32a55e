package batching

import (
	"context"
	"maps"
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// Model is the model that a Batcher runs. [graph.Model] is one.
type Model interface {
	Signatures() map[string]tfbridge.Signature
	Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error)
}

// signature is a signature of a model whose requests can be joined.
type signature struct {
	model   Model
	key     string
	infos   tfbridge.Signature
	inputs  []string        // sorted
	outputs []string        // sorted: those that can be fetched
	shared  map[string]bool // inputs that a batch has once

	composites composites
}

// newSignature returns a signature of a model, or an error if the model has no
// signature with this key or requests cannot be joined.
func newSignature(m Model, key string, o *Options) (*signature, error) {
	s := &signature{model: m, key: key, shared: map[string]bool{}}
	all := m.Signatures()
	infos, ok := all[key]
	if !ok {
		return nil, s.errorf("no such signature; the model has %q", slices.Sorted(maps.Keys(all)))
	}
	s.infos = infos
	s.inputs = slices.Sorted(maps.Keys(infos.Inputs))
	for _, name := range slices.Sorted(maps.Keys(infos.Outputs)) {
		if dt := infos.Outputs[name].DType; tfbridge.TypeOf(dt, nil) != nil {
			s.outputs = append(s.outputs, name)
		}
	}
	for _, name := range o.SharedInputs {
		if _, ok := infos.Inputs[name]; ok { // other signatures of the model may have the others
			s.shared[name] = true
		}
	}
	if err := s.addComposites(o); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check returns an error if requests cannot be joined.
func (s *signature) check() error {
	switch {
	case len(s.inputs) == len(s.shared):
		return s.errorf("a signature without inputs that have rows cannot be batched")
	case len(s.outputs) == 0:
		return s.errorf("a signature without outputs cannot be batched")
	}
	for _, infos := range []map[string]tfbridge.TensorInfo{s.infos.Inputs, s.infos.Outputs} {
		for name, info := range infos {
			if i := slices.Index(s.inputs, name); i >= 0 && (s.shared[name] || s.composites.roles[i] != plain) {
				continue
			}
			if n := info.Shape.NumDimensions(); n == 0 || n > 0 && info.Shape.Size(0) >= 0 {
				return s.tensorErrorf(name, "shape %v has no first dimension of any length, so the signature cannot be batched", info.Shape)
			}
		}
	}
	return nil
}

// call runs the signature and returns the outputs in the order of their names.
func (s *signature) call(ctx context.Context, inputs []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	named := make(map[string]any, len(inputs))
	for i, name := range s.inputs {
		named[name] = inputs[i]
	}
	results, err := s.model.Call(ctx, s.key, named, s.outputs...)
	if err != nil {
		return nil, err
	}
	if got := slices.Sorted(maps.Keys(results)); !slices.Equal(got, s.outputs) {
		closeAll(slices.Collect(maps.Values(results)))
		return nil, s.errorf("the call returned the outputs %q, want %q", got, s.outputs)
	}
	outputs := make([]*tfbridge.Tensor, len(s.outputs))
	for i, name := range s.outputs {
		outputs[i] = results[name]
	}
	return outputs, nil
}

// checkInput compares an input with the signature, except for its shape, which the
// model checks.
func (s *signature) checkInput(name string, o *operand) error {
	info := s.infos.Inputs[name]
	switch {
	case o.isTensor && !o.tensor.IsOpen():
		return s.tensorErrorf(name, "the tensor is nil or closed")
	case o.dtype != info.DType && o.isTensor:
		return s.tensorErrorf(name, "takes type %v, got %v", info.DType, o.tensor)
	case o.dtype != info.DType:
		return s.tensorErrorf(name, "takes type %v, got %v", info.DType, o.dtype)
	}
	return nil
}

// checkOutputs returns an error unless each output has the rows of the batch.
func (s *signature) checkOutputs(outputs []*tfbridge.Tensor, rows int64) error {
	for i, t := range outputs {
		if shape := t.Shape(); len(shape) == 0 || shape[0] != rows {
			return s.tensorErrorf(s.outputs[i], "has shape %v for a batch of %d rows, so the signature cannot be batched", shape, rows)
		}
	}
	return nil
}

// errorf returns an error of class ErrModel about the signature.
func (s *signature) errorf(format string, args ...any) error {
	return s.tensorErrorf("", format, args...)
}

// tensorErrorf returns an error of class ErrModel about a tensor of the signature.
func (s *signature) tensorErrorf(tensor, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.Signature, e.Tensor = s.key, tensor
	return e
}

// role is the role of an input in a composite tensor.
type role int

const (
	plain role = iota
	flat       // values
	splits
	indices
	denseShape
)

// composites are the composite inputs of a signature, as positions in its inputs.
type composites struct {
	roles  []role
	ragged [][]int // values, then row splits
	sparse [][]int // indices, values, dense shape
}

// any reports whether there are composite inputs.
func (c *composites) any() bool { return len(c.ragged)+len(c.sparse) > 0 }

// addComposites finds the composite inputs that the signature has. Other signatures of
// the model may have the others.
func (s *signature) addComposites(o *Options) error {
	c := &s.composites
	c.roles = make([]role, len(s.inputs))
	find := func(names []string, roles func(i int) role) ([]int, error) {
		var found []int
		for _, name := range names {
			if i := slices.Index(s.inputs, name); i >= 0 {
				found = append(found, i)
			}
		}
		if len(found) == 0 {
			return nil, nil
		}
		if len(found) < len(names) {
			return nil, s.errorf("the signature has some, but not all, of the inputs %q of a ragged or sparse tensor", names)
		}
		for n, i := range found {
			if c.roles[i] = roles(n); c.roles[i] == flat {
				continue
			}
			if dt := s.infos.Inputs[s.inputs[i]].DType; dt != tfbridge.Int64 && dt != tfbridge.Int32 {
				return nil, s.tensorErrorf(s.inputs[i], "type %v, but row splits, indices and dense shapes are int64 or int32", dt)
			}
		}
		return found, nil
	}
	for _, r := range o.Ragged {
		found, err := find(r.names(), func(i int) role { return map[bool]role{true: flat, false: splits}[i == 0] })
		if err != nil {
			return err
		}
		if len(found) > 1 {
			c.ragged = append(c.ragged, found)
		}
	}
	for _, r := range o.Sparse {
		found, err := find(r.names(), func(i int) role { return []role{indices, flat, denseShape}[i] })
		if err != nil {
			return err
		}
		if found != nil {
			c.sparse = append(c.sparse, found)
		}
	}
	return nil
}
