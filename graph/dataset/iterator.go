package dataset

import (
	"context"
	"errors"
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Iterator is an iterator in a graph. In a session, run Init, then call
// [Iterator.Next] until the data end, or fetch Element until the run fails with code
// OutOfRange. Init runs the scope's initializers first, such as those of lookup tables.
// Running Init again starts from the beginning, in the same order if there are seeds.
//
// OutOfRange does not prove that the data ended: closing the session and reading after
// any failure give the same code. Next tells these apart.
type Iterator struct {
	Resource tfbridge.Output
	Init     *tfbridge.Operation
	Element  []tfbridge.Output   // the components of the next element
	Parts    []tfbridge.Output   // the tensors of the next element: Element, with several tensors for a sparse or a ragged component
	State    tfbridge.Output     // a scalar string: what SaveState returns, for programs that fetch it in their own runs
	Destroy  *tfbridge.Operation // frees the iterator for good: no run of Init brings it back. The session frees it in any case

	scope    *graph.Scope
	specs    []graph.Spec
	restored tfbridge.Output // fed by RestoreState
	restore  *tfbridge.Operation
}

// failOnExternalState refuses to save an iterator whose functions keep state outside of
// it, such as unseeded random numbers, which a restored iterator would not repeat.
const failOnExternalState = 2

// Iterator adds an iterator over d.
func (d *Dataset) Iterator(name string) *Iterator {
	d = d.orNone()
	s := d.scope.SubScope(name)
	if debugOf(s) != nil {
		d = d.untuned()
	}
	it := &Iterator{scope: s, specs: d.Specs()}
	if s.Err() != nil {
		it.Element, it.Parts = unbuilt.Outputs(len(it.specs)), unbuilt.Outputs(unbuilt.Many)
		return it
	}
	types, shapes := graph.DTypes(d.specs), graph.Shapes(d.specs)
	it.Resource = s.Op1("IteratorV2", map[string]any{
		"shared_name":  d.iteratorName(s),
		"container":    "",
		"output_types": types, "output_shapes": shapes,
	})
	it.Init = s.AddOperation(tfbridge.OpSpec{
		Type: "MakeIterator", Input: []tfbridge.Input{d.read(), it.Resource},
		ControlDependencies: s.Initializers(), // the dataset may read their tables afterwards
	})
	it.Element = s.Op("IteratorGetNext", map[string]any{"output_types": types, "output_shapes": shapes}, it.Resource)
	it.Parts = d.Spec().expand(s, it.Element)
	it.Destroy = s.AddOperation(tfbridge.OpSpec{
		Type: "DestroyResourceOp", Input: []tfbridge.Input{it.Resource},
	})
	it.addState(s)
	return it
}

// iteratorName returns the name by which operations find the iterator in every run. An
// iterator with a name cannot call functions on other devices.
func (d *Dataset) iteratorName(s *graph.Scope) string {
	if d.remote {
		return ""
	}
	return s.Prefix() + "iterator"
}

// NextInline adds another way to fetch the next element, for runs made with
// [tfbridge.Callable.Inline]. Element waits for the element in a separate thread;
// NextInline waits in the calling thread, which saves tens of microseconds. Other runs
// should use Element: NextInline would hold a thread of TensorFlow's pool, which the
// dataset may need.
func (it *Iterator) NextInline() []tfbridge.Output {
	return it.scope.Op("IteratorGetNextSync", map[string]any{
		"output_types": graph.DTypes(it.specs), "output_shapes": graph.Shapes(it.specs),
	}, it.Resource)
}

// addState adds the operations that save and restore the iterator's state. The state is a
// vector of variants, which cannot be fetched, so it is serialized to one string.
func (it *Iterator) addState(s *graph.Scope) {
	state := s.Op1("SerializeIterator",
		map[string]any{"external_state_policy": int64(failOnExternalState)}, it.Resource)
	it.State = graph.SerializeTensor(s, state)
	it.restored = s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	it.restore = s.AddOperation(tfbridge.OpSpec{
		Type:  "DeserializeIterator",
		Input: []tfbridge.Input{it.Resource, graph.ParseTensor(s, it.restored, tfbridge.Variant)},
	})
}

// SaveState returns the position of an iterator and everything that its datasets have
// buffered, for [Iterator.RestoreState]. Elements that were fetched are not part of it.
// SaveState fails if part of the dataset cannot be restored. It waits for a fetch of Element
// in flight.
func (it *Iterator) SaveState(ctx context.Context, sess *tfbridge.Session) ([]byte, error) {
	saved, err := sess.RunContext(ctx, nil, []tfbridge.Output{it.State}, nil)
	if errors.Is(err, tfbridge.FailedPrecondition) {
		return nil, millrace.Errorf(millrace.ErrModel,
			"save iterator: Init has not run, or the dataset has an operation that cannot be repeated (for calls of Go, see SeqOptions.Replayable and graph.GoFunc.Pure): %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("save iterator: %w", err)
	}
	defer saved[0].Close()
	state, err := saved[0].StringAt(0)
	if err != nil {
		return nil, fmt.Errorf("save iterator: %w", err)
	}
	return []byte(state), nil
}

// RestoreState sets an iterator to the position of a [Iterator.SaveState], which another
// process may have made. The graph must be built in the same way, and Init must have run.
// After a failure run Init again first.
func (it *Iterator) RestoreState(ctx context.Context, sess *tfbridge.Session, state []byte) error {
	t, err := tfbridge.NewStringTensor(nil, [][]byte{state})
	if err != nil {
		return fmt.Errorf("restore iterator: %w", err)
	}
	defer t.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{it.restored: t}
	if _, err := sess.RunContext(ctx, feeds, nil, []*tfbridge.Operation{it.restore}); err != nil {
		return fmt.Errorf("restore iterator: %w", err)
	}
	return nil
}

// Optional is an element, or the information that there is none. It is one variant
// tensor, so functions may take and return it. It is what tf.experimental.Optional is.
type Optional struct {
	Variant tfbridge.Output
	specs   []graph.Spec
}

// NextOptional adds another way to take the next element: at the end of the dataset the
// result has no value, and the run does not fail. Each run that computes it takes an
// element, in addition to the runs of Element. It wraps IteratorGetNextAsOptional.
func (it *Iterator) NextOptional() *Optional {
	return &Optional{specs: it.specs, Variant: it.scope.Op1("IteratorGetNextAsOptional", map[string]any{
		"output_types": graph.DTypes(it.specs), "output_shapes": graph.Shapes(it.specs),
	}, it.Resource)}
}

// OptionalOf returns an optional with a value: the components of an element. It wraps
// OptionalFromValue.
func OptionalOf(s *graph.Scope, components ...tfbridge.Output) *Optional {
	if len(components) == 0 {
		s.UpdateErr("OptionalOf", millrace.Errorf(millrace.ErrModel, "there are no components"))
	}
	return &Optional{Variant: s.Op1("OptionalFromValue", nil, tfbridge.OutputList(components)), specs: graph.SpecsOf(components)}
}

// NoOptional returns an optional without a value, of elements of these components. It
// wraps OptionalNone.
func NoOptional(s *graph.Scope, components ...graph.Spec) *Optional {
	return &Optional{Variant: s.Op1("OptionalNone", nil), specs: components}
}

// HasValue returns whether there is an element, a scalar bool. It wraps OptionalHasValue.
func (o *Optional) HasValue(s *graph.Scope) tfbridge.Output {
	return s.Op1("OptionalHasValue", nil, o.Variant)
}

// Value returns the components of the element. If there is none, fetching them fails with
// code InvalidArgument. It wraps OptionalGetValue.
func (o *Optional) Value(s *graph.Scope) []tfbridge.Output {
	return s.Op("OptionalGetValue", map[string]any{
		"output_types": graph.DTypes(o.specs), "output_shapes": graph.Shapes(o.specs),
	}, o.Variant)
}

// StringHandle adds the iterator's handle, a scalar string to feed to what
// [NextOfHandle] adds. It is good for one session. It wraps IteratorToStringHandle.
func (it *Iterator) StringHandle() tfbridge.Output {
	return it.scope.Op1("IteratorToStringHandle", nil, it.Resource)
}

// NextOfHandle returns the components of the next element of the iterator that handle,
// a scalar string, names. So the value that a run feeds decides whether it trains or
// evaluates. The iterator's elements must have these types, and shapes that fit. It
// wraps IteratorFromStringHandleV2.
func NextOfHandle(s *graph.Scope, handle tfbridge.Output, specs ...graph.Spec) []tfbridge.Output {
	of := attrs{"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs)}
	return s.Op("IteratorGetNext", of, s.Op1("IteratorFromStringHandleV2", of, handle))
}
