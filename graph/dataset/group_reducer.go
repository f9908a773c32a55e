package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

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
