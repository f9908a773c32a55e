package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// The values of [Dataset.Cardinality] that are not a number of elements.
const (
	InfiniteCardinality = -1
	UnknownCardinality  = -2
)

// ReduceFunc computes the next state from the state and the components of an element.
type ReduceFunc func(s *graph.Scope, state, args []tfbridge.Output) []tfbridge.Output

// Reduce passes a state from element to element and returns the last state as outputs of
// the graph. Fetching them reads the whole dataset. The state keeps its data types. A
// dimension that the function changes is unknown in the result. It wraps ReduceDataset.
func (d *Dataset) Reduce(name string, initial []tfbridge.Output, fn ReduceFunc) []tfbridge.Output {
	d = d.orNone()
	if fn == nil {
		d.fail("Dataset.Reduce", "function %q is nil", name)
	}
	states := graph.SpecsOf(initial)
	if len(states) == 0 {
		d.fail("Dataset.Reduce", "the state of %q has no tensors", name)
	}
	in := append(append([]graph.Spec{}, states...), d.specs...)
	f := d.scope.Func(name, in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		next := fn(s, args[:len(states)], args[len(states):])
		if s.Err() == nil {
			s.UpdateErr(describe("reduce", name), sameTypes(states, graph.SpecsOf(next)))
		}
		return next
	})
	if d.scope.Err() != nil {
		return unbuilt.Outputs(len(initial))
	}
	specs := make([]graph.Spec, len(states))
	for i := range specs {
		specs[i] = graph.Spec{DType: states[i].DType, Shape: mostSpecific(states[i].Shape, f.Out[i].Shape)}
	}
	return d.scope.Op("ReduceDataset", map[string]any{
		"f": f.Attr(), "output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs),
		"use_inter_op_parallelism": true,
	}, d.read(), tfbridge.OutputList(initial), f.Inputs())
}

// SingleElement returns the components of the only element as outputs of the graph. If d
// has no element or more than one, fetching them fails with code InvalidArgument. It wraps
// DatasetToSingleElement.
func (d *Dataset) SingleElement() []tfbridge.Output {
	d = d.orNone()
	if d.scope.Err() != nil {
		return unbuilt.Outputs(len(d.specs))
	}
	return d.scope.Op("DatasetToSingleElement", map[string]any{
		"output_types": graph.DTypes(d.specs), "output_shapes": graph.Shapes(d.specs),
	}, d.read())
}

// At returns the components of element i, an int64 scalar, as outputs of the graph, without
// reading the elements before it. Datasets without random access, such as files, fail with
// code Unimplemented. An index that does not exist fails with OutOfRange. It wraps
// GetElementAtIndex.
func (d *Dataset) At(i tfbridge.Output) []tfbridge.Output {
	d = d.orNone()
	if d.scope.Err() != nil {
		return unbuilt.Outputs(len(d.specs))
	}
	return d.scope.Op("GetElementAtIndex", map[string]any{
		"output_types": graph.DTypes(d.specs), "output_shapes": graph.Shapes(d.specs),
	}, d.variant, i)
}

// ScanFunc makes the next state and the components of an element from the
// state so far and the components of another.
type ScanFunc func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output)

// Scan applies a function to every element and passes a state from element to element. The
// data types and shapes of the state must not change.
func (d *Dataset) Scan(name string, initial []tfbridge.Output, fn ScanFunc) *Dataset {
	d = d.orNone()
	if fn == nil {
		return d.fail("Dataset.Scan", "function %q is nil", name)
	}
	n := len(initial)
	stateSpecs := graph.SpecsOf(initial)
	in := append(append([]graph.Spec{}, stateSpecs...), d.specs...)
	f := d.scope.Func(name, in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		next, components := fn(s, args[:n], args[n:])
		s.UpdateErr(describe("scan", name), sameTypes(stateSpecs, graph.SpecsOf(next)))
		return append(append([]tfbridge.Output{}, next...), components...)
	})
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	more := attrs{"f": f.Attr(), "preserve_cardinality": true}
	return d.then("ScanDataset", f.Out[n:], more, tfbridge.OutputList(initial), f.Inputs())
}

// sameTypes returns an error if the types of a state differ from the state before it.
func sameTypes(before, after []graph.Spec) error {
	if len(before) != len(after) {
		return millrace.Errorf(millrace.ErrModel, "state has %d tensors, then %d", len(before), len(after))
	}
	for i := range before {
		if before[i].DType != after[i].DType {
			return millrace.Errorf(millrace.ErrModel, "state %d is a %v, then a %v", i, before[i], after[i])
		}
	}
	return nil
}

// Cardinality returns the number of elements as a scalar of int64: -1 if d is endless,
// -2 if the number is unknown without reading.
func (d *Dataset) Cardinality() tfbridge.Output {
	d = d.orNone()
	return d.scope.Op1("DatasetCardinality", nil, d.variant)
}

// AssertCardinality fails with code FailedPrecondition if d ends before or after n
// elements. It tells a truncated file from a complete one. n is a scalar of int64; -1
// means endless.
func (d *Dataset) AssertCardinality(n tfbridge.Output) *Dataset {
	d = d.orNone()
	return d.same("AssertCardinalityDataset", nil, n)
}

// Fingerprint returns a uint64 scalar that two datasets share if their graphs
// are alike: the same operations, functions and constants. It wraps
// DatasetFingerprint.
func (d *Dataset) Fingerprint() tfbridge.Output {
	d = d.orNone()
	return d.scope.Op1("DatasetFingerprint", nil, d.variant)
}
