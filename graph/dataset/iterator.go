package dataset

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Iterator is an iterator in a graph. In a session, run Init, then fetch Next
// until it fails with code OutOfRange. Running Init again starts anew, with
// the orders of the first time where there are seeds.
//
// That failure alone does not prove that the data ended: closing the session,
// or any failure before, has the same code.
type Iterator struct {
	Resource tfbridge.Output
	Init     *tfbridge.Operation
	Next     []tfbridge.Output   // the components of the next element
	Parts    []tfbridge.Output   // the tensors of the next element: Next, with what sparse and ragged components stand for in their place
	Destroy  *tfbridge.Operation // frees what the iterator holds; the session does it in any case

	scope    *graph.Scope
	specs    []graph.Spec
	state    tfbridge.Output // fetched by SaveState
	restored tfbridge.Output // fed by RestoreState
	restore  *tfbridge.Operation
}

// failOnExternalState refuses to save an iterator whose functions keep state
// elsewhere, such as unseeded random numbers: it would restore to others.
const failOnExternalState = 2

// Iterator adds an iterator over d.
func (d *Dataset) Iterator(name string) *Iterator {
	d = d.orNone()
	s := d.scope.SubScope(name)
	it := &Iterator{Next: make([]tfbridge.Output, len(d.specs)), scope: s, specs: d.specs}
	if s.Err() != nil {
		return it
	}
	types, shapes := graph.DTypes(d.specs), graph.Shapes(d.specs)
	it.Resource = s.Op1("IteratorV2", map[string]any{
		"shared_name":  d.iteratorName(s),
		"container":    "",
		"output_types": types, "output_shapes": shapes,
	})
	it.Init = s.AddOperation(tfbridge.OpSpec{
		Type: "MakeIterator", Input: []tfbridge.Input{d.variant, it.Resource},
	})
	copy(it.Next, s.Op("IteratorGetNext",
		map[string]any{"output_types": types, "output_shapes": shapes}, it.Resource))
	it.Parts = d.Spec().expand(s, it.Next)
	it.Destroy = s.AddOperation(tfbridge.OpSpec{
		Type: "DestroyResourceOp", Input: []tfbridge.Input{it.Resource},
	})
	it.addState(s)
	return it
}

// iteratorName returns the name that operations find the iterator by in every
// run. An iterator with one cannot call functions on other devices.
func (d *Dataset) iteratorName(s *graph.Scope) string {
	if d.remote {
		return ""
	}
	return s.Prefix() + "iterator"
}

// NextInline adds another way to fetch the next element, for runs made with
// [tfbridge.Callable.Inline]: where Next hands the wait for the element to a
// thread of its own and back, this waits in the calling thread, which takes
// microseconds instead of tens of them. Other runs should use Next: this would
// hold a thread of TensorFlow's pool, which the dataset may need.
func (it *Iterator) NextInline() []tfbridge.Output {
	components := make([]tfbridge.Output, len(it.specs))
	copy(components, it.scope.Op("IteratorGetNextSync", map[string]any{
		"output_types": graph.DTypes(it.specs), "output_shapes": graph.Shapes(it.specs),
	}, it.Resource))
	return components
}

// addState adds what saves and restores the iterator's state: a vector of
// variants, which no fetch can give, so it passes through one string.
func (it *Iterator) addState(s *graph.Scope) {
	state := s.Op1("SerializeIterator",
		map[string]any{"external_state_policy": int64(failOnExternalState)}, it.Resource)
	it.state = graph.SerializeTensor(s, state)
	it.restored = s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	it.restore = s.AddOperation(tfbridge.OpSpec{
		Type:  "DeserializeIterator",
		Input: []tfbridge.Input{it.Resource, graph.ParseTensor(s, it.restored, tfbridge.Variant)},
	})
}
