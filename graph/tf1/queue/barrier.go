package queue

import (
	"cmp"
	"fmt"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Barrier joins components that arrive at different times, by their keys. An element is
// complete when each of its components was inserted. Complete elements are returned in
// the order in which their first components arrived.
type Barrier struct {
	name       string
	handle     tfbridge.Output
	components []graph.Spec
	limits     limits
}

// NewBarrier adds a barrier. The components are those of [NewFIFO], and must have
// shapes. An element also has a key, a string.
//
// It wraps Barrier. TensorFlow has no resource for it, so that functions cannot use
// the barrier.
func NewBarrier(s *graph.Scope, components []graph.Spec, o *Options) *Barrier {
	if o == nil {
		o = &Options{}
	}
	b := &Barrier{name: cmp.Or(o.Name, "Barrier"), components: components}
	if s.Err() != nil {
		return b
	}
	err := checkComponents(components, true, true)
	for i, c := range components {
		if err == nil && slices.Contains(c.Shape.Dims(), 0) {
			err = millrace.Errorf(millrace.ErrModel, "%s has shape %v, which holds nothing", describe(i, c.Name), c.Shape)
		}
	}
	if err != nil {
		b.fail(s, err)
		return b
	}
	attrs := map[string]any{
		"component_types": graph.DTypes(components), "shapes": graph.Shapes(components),
		"shared_name": o.SharedName, "container": o.Container,
	}
	b.limits = newLimits(components)
	if op := s.AddOperation(tfbridge.OpSpec{Type: "Barrier", Name: b.name, Attrs: attrs}); op != nil {
		b.handle, b.name = op.Output(0), op.Name()
	}
	return b
}

// Name returns the name of the barrier's operation in the graph.
func (b *Barrier) Name() string { return b.name }

// String names the barrier in messages.
func (b *Barrier) String() string { return fmt.Sprintf("barrier %q", b.name) }

// fail makes err, about this barrier, the scope's failure.
func (b *Barrier) fail(s *graph.Scope, err error) { s.UpdateErr(b.String(), err) }

// InsertMany adds an operation that inserts one component of several elements: keys is
// a vector of strings, and values has as many rows. It never waits. Inserting a
// component twice fails with code InvalidArgument, a new key in a closed barrier with
// code Cancelled.
//
// It wraps BarrierInsertMany.
func (b *Barrier) InsertMany(s *graph.Scope, component int, keys, values tfbridge.Output) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	if component < 0 || component >= len(b.components) {
		b.fail(s, millrace.Errorf(millrace.ErrModel, "there is no component %d; there are %d", component, len(b.components)))
		return nil
	}
	c, k, v := b.components[component], graph.SpecOf(keys), graph.SpecOf(values)
	at := describe(component, c.Name)
	switch want := stack(-1, c.Shape); {
	case k.DType != tfbridge.String || k.Shape.NumDimensions() != 1:
		b.fail(s, millrace.Errorf(millrace.ErrModel, "the keys are %v, must be a vector of strings", k))
	case v.DType != c.DType:
		b.fail(s, millrace.Errorf(millrace.ErrModel, "%s is of type %v, got %v", at, c.DType, v.DType))
	case v.Shape.NumDimensions() < 1 || !want.IsCompatibleWith(v.Shape):
		b.fail(s, millrace.Errorf(millrace.ErrModel, "%s takes shape %v, got %v", at, want, v.Shape))
	}
	return s.AddOperation(tfbridge.OpSpec{
		Type: "BarrierInsertMany", Attrs: map[string]any{"component_index": int64(component)},
		Input: []tfbridge.Input{b.handle, keys, values},
	})
}

// Taken is the result of [Barrier.TakeMany]: n elements.
type Taken struct {
	Indices tfbridge.Output   // index of the insertion that began each element, a vector of int64 that counts from the smallest index
	Keys    tfbridge.Output   // a vector of strings
	Values  []tfbridge.Output // the components, stacked
}

// TakeManyOptions are the options of [Barrier.TakeMany]. Nil and the zero value
// mean the defaults.
type TakeManyOptions struct {
	AllowSmallBatch bool // take all complete elements if a closed barrier has fewer than n
}

// TakeMany adds an operation that waits for n complete elements, n being a scalar
// int32, and takes them. In a closed barrier that can no longer get n elements it fails
// with code OutOfRange.
//
// It wraps BarrierTakeMany.
func (b *Barrier) TakeMany(s *graph.Scope, n tfbridge.Output, o *TakeManyOptions) Taken {
	if o == nil {
		o = &TakeManyOptions{}
	}
	none := Taken{Values: unbuilt.Outputs(len(b.components))}
	if s.Err() != nil {
		return none
	}
	count, err := rowCount(n)
	if err == nil {
		err = b.limits.check(count)
	}
	if err != nil {
		b.fail(s, err)
		return none
	}
	out := s.Op("BarrierTakeMany", map[string]any{
		"component_types": graph.DTypes(b.components), "allow_small_batch": o.AllowSmallBatch,
	}, b.handle, b.limits.guard(s, b.String(), n, count))
	if s.Err() != nil {
		return none
	}
	if o.AllowSmallBatch {
		count = -1
	}
	shapes := []tfbridge.Shape{tfbridge.MakeShape(count), tfbridge.MakeShape(count)}
	for _, c := range b.components {
		shapes = append(shapes, stack(count, c.Shape))
	}
	for i, o := range out {
		if err := s.Graph().SetShape(o, shapes[i]); err != nil {
			b.fail(s, err)
		}
	}
	return Taken{Indices: out[0], Keys: out[1], Values: out[2:]}
}

// ReadySize adds an operation that counts the complete elements, a scalar int32.
//
// It wraps BarrierReadySize.
func (b *Barrier) ReadySize(s *graph.Scope) tfbridge.Output {
	return s.Op1("BarrierReadySize", nil, b.handle)
}

// IncompleteSize adds an operation that counts the incomplete elements, a scalar
// int32.
//
// It wraps BarrierIncompleteSize.
func (b *Barrier) IncompleteSize(s *graph.Scope) tfbridge.Output {
	return s.Op1("BarrierIncompleteSize", nil, b.handle)
}

// Close adds an operation that closes the barrier to new keys. If
// cancelPendingEnqueues is true, incomplete elements cannot be completed either.
//
// It wraps BarrierClose.
func (b *Barrier) Close(s *graph.Scope, cancelPendingEnqueues bool) *tfbridge.Operation {
	return s.AddOperation(tfbridge.OpSpec{
		Type: "BarrierClose", Attrs: map[string]any{"cancel_pending_enqueues": cancelPendingEnqueues},
		Input: []tfbridge.Input{b.handle},
	})
}
