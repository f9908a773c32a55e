package dataset

import (
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// MapFunc computes the components of an element from those of another. It may use outputs
// of the graph around it, which are captured.
type MapFunc func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output

// DatasetFunc makes a dataset from the components of an element.
type DatasetFunc func(s *graph.Scope, args []tfbridge.Output) *Dataset

// PredicateFunc makes a scalar bool from the components of an element.
type PredicateFunc func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output

// MapOptions are the options of [Dataset.Map].
type MapOptions struct {
	Parallel int64 // elements worked on at a time; 0: one after the other; [Autotune]
	Sloppy   bool  // with Parallel: yield elements as they are ready
	Inline   bool  // run the function's operations in one thread, which is faster if they are small
}

// Map applies a function to every element. If an operation of the function fails, only
// that element fails; the next read returns the next element.
func (d *Dataset) Map(name string, fn MapFunc, o *MapOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &MapOptions{}
	}
	limit.Between(Autotune, limit.Parallel).Check(d.scope, "map: parallel calls", o.Parallel)
	f := d.function(name, fn)
	more := attrs{
		"f": f.Attr(),
		// Otherwise an OUT_OF_RANGE in the function silently ends the dataset.
		"preserve_cardinality":     true,
		"use_inter_op_parallelism": !o.Inline,
	}
	if o.Parallel == 0 || debugOf(d.scope) != nil {
		return d.then("MapDataset", f.Out, more, f.Inputs())
	}
	more["deterministic"] = determinism(o.Sloppy)
	return d.then("ParallelMapDatasetV2", f.Out, more, f.Inputs(), d.scope.Const(o.Parallel))
}

// Filter keeps the elements for which the function is true.
func (d *Dataset) Filter(name string, fn PredicateFunc) *Dataset {
	d = d.orNone()
	f := d.predicate("FilterDataset", name, fn)
	return d.same("FilterDataset", attrs{"predicate": f.Attr()}, f.Inputs())
}

// TakeWhile keeps the elements before the first for which the function is false.
func (d *Dataset) TakeWhile(name string, fn PredicateFunc) *Dataset {
	d = d.orNone()
	f := d.predicate("TakeWhileDataset", name, fn)
	return d.same("TakeWhileDataset", attrs{"predicate": f.Attr()}, f.Inputs())
}

// FlatMap makes a dataset of every element and yields the elements of these datasets, one
// dataset after the other.
func (d *Dataset) FlatMap(name string, fn DatasetFunc) *Dataset {
	d = d.orNone()
	f, inner := d.datasetFunction("Dataset.FlatMap", name, fn)
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	return d.then("FlatMapDataset", inner.specs, attrs{"f": f.Attr()}, f.Inputs()).shapedAs(inner)
}

// MapParallel is [Dataset.Map] for up to n elements in parallel. n may be [Autotune]. It
// keeps the order.
func (d *Dataset) MapParallel(name string, n int64, fn MapFunc) *Dataset {
	d = d.orNone()
	if n == 0 {
		return d.fail("Dataset.MapParallel", "0 elements at a time of %q, must be at least 1 or Autotune", name)
	}
	return d.Map(name, fn, &MapOptions{Parallel: n})
}

// function makes a function of the components.
func (d *Dataset) function(name string, fn MapFunc) *graph.Func {
	if fn == nil {
		d.fail("dataset", "function %q is nil", name)
		return &graph.Func{}
	}
	return d.scope.Func(name, d.specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return fn(s, slices.Clone(args)) // fn may change this copy
	})
}

// predicate makes a function of the components that returns a bool.
func (d *Dataset) predicate(what, name string, fn PredicateFunc) *graph.Func {
	if fn == nil {
		d.fail(what, "predicate %q is nil", name)
		return &graph.Func{}
	}
	f := d.function(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{fn(s, args)}
	})
	if len(f.Out) == 1 && (f.Out[0].DType != tfbridge.Bool || f.Out[0].Shape.NumDimensions() > 0) {
		d.fail(what, "predicate %q gives a %v, not a bool", name, f.Out[0])
	}
	return f
}

// datasetFunction makes a function from the components to a dataset. It also returns
// the dataset that the function's body ends with, which is only good for its structure.
func (d *Dataset) datasetFunction(what, name string, fn DatasetFunc) (*graph.Func, *Dataset) {
	if fn == nil {
		d.fail(what, "function %q is nil", name)
		return &graph.Func{}, nil
	}
	var inner *Dataset
	f := d.function(name, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		inner = fn(s, args)
		if inner == nil {
			s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "function %q returned no dataset", name))
		}
		if !usable(s, what, inner) {
			return nil
		}
		return []tfbridge.Output{inner.read()}
	})
	return f, inner
}

// InterleaveOptions are the options of [Dataset.Interleave].
type InterleaveOptions struct {
	CycleLength int64 // datasets open at a time; default 1
	BlockLength int64 // elements taken from one before the next; default 1
	Parallel    int64 // datasets read at a time, at most CycleLength; 0: one after the other; [Autotune]
	Sloppy      bool  // with Parallel: yield elements as they are ready
	InBuffer    int64 // with Parallel: datasets opened ahead; default 0; [Autotune]
	OutBuffer   int64 // with Parallel: elements read ahead of each dataset; default 1; [Autotune]
}

// Interleave makes a dataset of every element and yields the elements of CycleLength of
// these datasets in turn.
func (d *Dataset) Interleave(name string, fn DatasetFunc, o *InterleaveOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &InterleaveOptions{}
	}
	s := d.scope
	cycle, block := max(o.CycleLength, 1), max(o.BlockLength, 1)
	limit.Between(0, limit.Parallel).Check(s, "interleave: cycle length", o.CycleLength)
	limit.Between(0, math.MaxInt64).Check(s, "interleave: block length", o.BlockLength)
	limit.Between(Autotune, limit.Parallel).Check(s, "interleave: parallel calls", o.Parallel)
	f, inner := d.datasetFunction("Dataset.Interleave", name, fn)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	more := attrs{"f": f.Attr()}
	if o.Parallel == 0 || debugOf(s) != nil {
		return d.then("InterleaveDataset", inner.specs, more, f.Inputs(), s.Const(cycle), s.Const(block)).shapedAs(inner)
	}
	more["deterministic"] = determinism(o.Sloppy)
	out := o.OutBuffer
	if out == 0 {
		out = 1 // TensorFlow does not accept 0
	}
	return d.then("ParallelInterleaveDatasetV4", inner.specs, more, f.Inputs(),
		s.Const(cycle), s.Const(block), s.Const(out), s.Const(o.InBuffer), s.Const(min(o.Parallel, cycle))).shapedAs(inner)
}
