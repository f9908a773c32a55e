package dataset

import (
	"fmt"

	"millrace/graph"
	"millrace/tfbridge"
)

// MapFunc makes the components of an element from those of another. Outputs
// of the graph around it may be used: they are captured.
type MapFunc func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output

// DatasetFunc makes a dataset from the components of an element.
type DatasetFunc func(s *graph.Scope, args []tfbridge.Output) *Dataset

// PredicateFunc makes a scalar bool from the components of an element.
type PredicateFunc func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output

// MapOptions are the options of [Dataset.Map].
type MapOptions struct {
	Parallel int64 // elements worked on at a time; 0: one after the other; [Autotune]
	Sloppy   bool  // with Parallel: hand elements out as they are ready
	Inline   bool  // run the function's operations in one thread, which is faster if they are small
}

// Map applies a function to every element. An operation of the function that
// fails fails that element alone; reading on gives the next one.
func (d *Dataset) Map(name string, fn MapFunc, o *MapOptions) *Dataset {
	if o == nil {
		o = &MapOptions{}
	}
	inRange(d.scope, "map: parallel calls", o.Parallel, Autotune, maxParallel)
	f := d.function(name, fn)
	more := attrs{
		"f": f.Attr(),
		// Without it an OUT_OF_RANGE in the function ends the dataset in silence.
		"preserve_cardinality":     true,
		"use_inter_op_parallelism": !o.Inline,
	}
	if o.Parallel == 0 {
		return d.then("MapDataset", f.Out, more, f.Inputs())
	}
	more["deterministic"] = determinism(o.Sloppy)
	return d.then("ParallelMapDatasetV2", f.Out, more, f.Inputs(), d.scope.Const(o.Parallel))
}

// Filter keeps the elements for which the function holds.
func (d *Dataset) Filter(name string, fn PredicateFunc) *Dataset {
	f := d.function(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{fn(s, args)}
	})
	if len(f.Out) == 1 && (f.Out[0].DType != tfbridge.Bool || f.Out[0].Shape.NumDimensions() > 0) {
		return d.fail("FilterDataset", "predicate %q gives a %v, not a bool", name, f.Out[0])
	}
	return d.then("FilterDataset", d.specs, attrs{"predicate": f.Attr()}, f.Inputs())
}

// TakeWhile keeps the elements before the first for which the function does
// not hold.
func (d *Dataset) TakeWhile(name string, fn PredicateFunc) *Dataset {
	f := d.function(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{fn(s, args)}
	})
	return d.then("TakeWhileDataset", d.specs, attrs{"predicate": f.Attr()}, f.Inputs())
}

// FlatMap makes a dataset of every element and gives their elements, one
// dataset after the other.
func (d *Dataset) FlatMap(name string, fn DatasetFunc) *Dataset {
	f, specs := d.datasetFunction(name, fn)
	return d.then("FlatMapDataset", specs, attrs{"f": f.Attr()}, f.Inputs())
}

// function makes a function of the components.
func (d *Dataset) function(name string, fn MapFunc) *graph.Func {
	return d.scope.Func(name, d.specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return fn(s, args)
	})
}

// datasetFunction makes a function from the components to a dataset, and
// returns the specs of its components.
func (d *Dataset) datasetFunction(name string, fn DatasetFunc) (*graph.Func, []graph.Spec) {
	var specs []graph.Spec
	f := d.function(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		inner := fn(s, args)
		if inner == nil {
			s.UpdateErr("dataset", fmt.Errorf("function %q returned no dataset", name))
			return nil
		}
		s.UpdateErr("dataset", inner.scope.Err())
		specs = inner.specs
		return []tfbridge.Output{inner.variant}
	})
	return f, specs
}
