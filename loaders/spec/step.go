package spec

import (
	"iter"
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
	After   int             // number of Spec.BatchSteps before it, if it is one of [Spec.BatchedSteps]
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

/*
Which steps see whole batches?

A call of a function costs tf.data some microseconds, whatever it computes. Where steps see
one example at a time, that is the price of an example, and for short texts and tables it is
most of the time: a loader of texts that are split and looked up gave 13,000 examples a
second, and with steps on whole batches 230,000.

A step sees batches if its type can, in one of four ways: it computes each value by itself,
it only arranges values and the shapes are known, it makes rows that differ in length, which
then travel joined, or it has a form for joined rows. One step that cannot makes all others
see single examples, because they share a function. plan names that step.
*/

// Batchable reports whether the step can process a whole batch, or joined rows, at once.
// Other steps see one example at a time.
func (s Step) Batchable() bool {
	_, columns := s.Action.(interface{ Columns() })
	return s.Action == nil || columns || s.MakesRows() || s.Arranges() || processing.IsElementwise(s.Action)
}

// Arranges reports whether the step works on batches because the shapes of its tensors are known.
func (s Step) Arranges() bool {
	_, ok := s.Action.(processing.Batched)
	unknown := func(t TensorSpec) bool { return slices.Contains(t.Shape, -1) }
	return ok && !slices.ContainsFunc(s.In, unknown)
}

// MakesRows reports whether the step makes a vector of each example whose length the values
// decide, and can do so for a whole batch.
func (s Step) MakesRows() bool {
	_, ok := s.Action.(processing.Rows)
	return ok
}

// StepsSingly reports whether some processing step must see one example at a time.
func (s *Spec) StepsSingly() bool { return s.SingleStep() != "" }

// SingleStep returns the type of the first step that must see one example at a time, "" if there is
// none. For steps on batches each example makes draws, so the first of these counts, too.
func (s *Spec) SingleStep() string {
	if x := FirstSingle(slices.Values(s.Steps), s.HasLists(), s.Window != nil || s.Bucket != nil, s.Chunks != nil); x != nil {
		return x.Type
	}
	if len(s.BatchSteps) > 0 {
		return s.BatchSteps[0].Type
	}
	return ""
}

// FirstSingle returns the first of the steps that must see one example at a time, nil if there is
// none. Filters can remove examples from a batch only if its records have one size, so not with
// lists, and examples that are windows or go to buckets come apart. What a step makes of a batch is
// cut into no windows, buckets or chunks.
func FirstSingle(steps iter.Seq[Step], lists, apart, cut bool) *Step {
	var filter, rows *Step
	drops := false
	for x := range steps {
		if x.Filters() && filter == nil {
			filter = &x
		}
		if x.MakesRows() && rows == nil {
			rows = &x
		}
		switch {
		case !x.Batchable(),
			x.Arranges() && (apart || cut),
			x.Arranges() && len(x.Reads) == 0 && drops: // there may be no tensor with the number of rows
			return &x
		case filter != nil && (lists || apart || rows != nil):
			return filter
		case rows != nil && (apart || cut):
			return rows
		}
		drops = drops || x.Writes == "" && len(x.Drops) > 0
	}
	return nil
}

// MakesRows reports whether a processing step makes rows of a batch that differ in length.
func (s *Spec) MakesRows() bool { return slices.ContainsFunc(s.Steps, Step.MakesRows) }
