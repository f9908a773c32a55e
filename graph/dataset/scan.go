package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// ScanFunc makes the next state and the components of an element from the
// state so far and the components of another.
type ScanFunc func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output)

// Scan applies a function to every element, with a state that it hands on from
// element to element. The state keeps its types; its shapes may not change.
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

// sameTypes tells in which type a state differs from the one before.
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
