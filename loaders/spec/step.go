package spec

import (
	"slices"

	"millrace/loaders/processing"
)

// Step is a processing step that was checked. The mode of the plan carries it out.
type Step struct {
	Type    string          // the step's entry in the config
	Action  processing.Step // nil for a step that writes no tensor
	Index   int             // index in "processing_steps", from 0
	Random  bool            // whether the step draws random numbers
	Decodes bool            // whether the step decodes bytes, which Go checks first
	Reads   []string        // names of tensors
	In      []TensorSpec    // what is known of these tensors
	Writes  string          // the name of the tensor that it makes or overwrites, "" for none
	Drops   []string        // names of tensors that the step removes
}

// Result returns what is known of the tensor that the step writes.
func (s Step) Result() TensorSpec {
	out := s.Action.Out()
	out.Name = s.Writes
	return out
}

// Removes reports whether the step removes an axis of the tensor.
func (s Step) Removes(axis int) bool {
	r, ok := s.Action.(interface{ Removes(axis int) bool })
	return ok && r.Removes(axis)
}

// Shape returns the shape of the tensor that the step writes for one record, given the
// shape of the tensor which it reads. It is false where the values of the record decide. The error is a
// *millrace.Error without a location.
func (s Step) Shape(in []int64) (out []int64, known bool, err error) {
	if x, ok := s.Action.(interface {
		Shape(in []int64) ([]int64, error)
	}); ok {
		out, err = x.Shape(in)
		return out, true, err
	}
	if processing.IsElementwise(s.Action) { // the step may append axes
		return append(slices.Clone(in), s.Action.Out().Shape[len(in):]...), true, nil
	}
	out = s.Action.Out().Shape
	return out, !slices.Contains(out, -1), nil
}

// Filters reports whether the step keeps some of the examples.
func (s Step) Filters() bool {
	_, ok := s.Action.(processing.Filter)
	return ok
}
