package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Grouping says how [Dataset.GroupByWindow] groups elements. Its functions may use outputs
// of the graph around them, which are captured.
type Grouping struct {
	Key    func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output        // group of an element, an int64 scalar
	Size   func(s *graph.Scope, key tfbridge.Output) tfbridge.Output           // elements in a window of a group, an int64 scalar, at least 1
	Reduce func(s *graph.Scope, key tfbridge.Output, window *Dataset) *Dataset // what becomes of a window
}

// GroupByWindow collects elements by group. As soon as a group has a window of elements,
// it yields the elements of Reduce for that window. At the end of the data the rest of each
// group is a smaller window, in the order of the keys. A window keeps the order of its
// elements.
func (d *Dataset) GroupByWindow(name string, g *Grouping) *Dataset {
	d = d.orNone()
	if g == nil || g.Key == nil || g.Size == nil || g.Reduce == nil {
		return d.fail("Dataset.GroupByWindow", "group %q needs the functions Key, Size and Reduce", name)
	}
	number := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	window := graph.Spec{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()}
	key := d.function(name+"_key", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{g.Key(s, args)}
	})
	size := d.scope.Func(name+"_size", []graph.Spec{number}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{g.Size(s, args[0])}
	})
	var after *Dataset
	reduce := d.scope.Func(name+"_reduce", []graph.Spec{number, window}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		after = g.Reduce(s, args[0], &Dataset{scope: s, variant: args[1], specs: d.specs, structure: d.structure})
		if !usable(s, "Dataset.GroupByWindow: Reduce", after) {
			return nil
		}
		return []tfbridge.Output{after.variant}
	})
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	for _, f := range []*graph.Func{key, size} {
		if out := f.Out[0]; out.DType != tfbridge.Int64 || out.Shape.NumDimensions() > 0 {
			d.scope.UpdateErr("GroupByWindowDataset", millrace.Errorf(millrace.ErrModel, "function of group %q gives a %v, not an int64", name, out))
			return &Dataset{scope: d.scope}
		}
	}
	more := attrs{"key_func": key.Attr(), "reduce_func": reduce.Attr(), "window_size_func": size.Attr()}
	return d.then("GroupByWindowDataset", after.specs, more, key.Inputs(), reduce.Inputs(), size.Inputs()).shapedAs(after)
}

// Reducer says how [Dataset.GroupByReducer] reduces the elements of a group.
// Outputs of the graph around its functions may be used: they are captured.
type Reducer struct {
	Key    func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output    // group of an element, an int64 scalar
	Init   func(s *graph.Scope, key tfbridge.Output) []tfbridge.Output     // the state that a group begins with
	Reduce ReduceFunc                                                      // the next state
	Result func(s *graph.Scope, state []tfbridge.Output) []tfbridge.Output // an element from the last state; nil: the state
}

// GroupByReducer reduces the elements of each group to one, and gives these at
// the end of the data, in the order of the keys. It wraps
// GroupByReducerDataset.
func (d *Dataset) GroupByReducer(name string, r *Reducer) *Dataset {
	d = d.orNone()
	const what = "Dataset.GroupByReducer"
	if r == nil || r.Key == nil || r.Init == nil || r.Reduce == nil {
		return d.fail(what, "group %q needs the functions Key, Init and Reduce", name)
	}
	s := d.scope
	number := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	key := d.function(name+"_key", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{r.Key(s, args)}
	})
	first := s.Func(name+"_init", []graph.Spec{number}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return r.Init(s, args[0])
	})
	n := len(first.Out)
	reduce := s.Func(name+"_reduce", append(append([]graph.Spec{}, first.Out...), d.specs...), nil,
		func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			next := r.Reduce(s, args[:n:n], args[n:])
			if s.Err() == nil {
				s.UpdateErr(describe(what, name), sameTypes(first.Out, graph.SpecsOf(next)))
			}
			return next
		})
	result := s.Func(name+"_result", first.Out, nil, func(s *graph.Scope, state, _ []tfbridge.Output) []tfbridge.Output {
		if r.Result == nil {
			return state
		}
		return r.Result(s, state)
	})
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	if out := key.Out[0]; out.DType != tfbridge.Int64 || out.Shape.NumDimensions() > 0 {
		return d.fail(what, "%w", millrace.Errorf(millrace.ErrModel, "function Key of group %q gives a %v, not an int64", name, out))
	}
	return d.then("GroupByReducerDataset", result.Out, attrs{
		"key_func": key.Attr(), "init_func": first.Attr(), "reduce_func": reduce.Attr(), "finalize_func": result.Attr(),
	}, key.Inputs(), first.Inputs(), reduce.Inputs(), result.Inputs())
}
