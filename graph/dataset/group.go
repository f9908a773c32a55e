package dataset

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Grouping defines the groups of [Dataset.GroupByWindow]. Its functions may use outputs of
// the graph around them, which are captured.
type Grouping struct {
	Key    func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output        // group of an element, an int64 scalar
	Size   func(s *graph.Scope, key tfbridge.Output) tfbridge.Output           // elements in a window of a group, an int64 scalar, at least 1
	Reduce func(s *graph.Scope, key tfbridge.Output, window *Dataset) *Dataset // dataset of the results for a window
}

// GroupByWindow collects elements by group. As soon as a group has a window of
// elements, it yields the elements of Reduce for that window. At the end of the data
// the remaining elements of each group form a smaller window, in the order of the keys.
// A window keeps the order of its elements.
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
		return []tfbridge.Output{after.read()}
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

// Reducer defines how [Dataset.GroupByReducer] reduces the elements of a group. Its
// functions may use outputs of the graph around them, which are captured.
type Reducer struct {
	Key    func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output    // group of an element, an int64 scalar
	Init   func(s *graph.Scope, key tfbridge.Output) []tfbridge.Output     // initial state of a group
	Reduce ReduceFunc                                                      // the next state
	Result func(s *graph.Scope, state []tfbridge.Output) []tfbridge.Output // an element from the last state; nil: the state
}

// GroupByReducer reduces the elements of each group to one, and yields these at the end of
// the data, in the order of the keys. It wraps GroupByReducerDataset.
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

// Buckets are the arguments of [Dataset.BucketByLength].
//
// A boundary is the greatest length of its bucket: boundaries 3 and 6 make
// buckets of the lengths up to 3, 4 to 6, and from 7. In Python's
// bucket_by_sequence_length a boundary is the first length of the next bucket,
// so its [4, 7] is 3 and 6 here.
type Buckets struct {
	Length     func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output // the length of an element, a scalar of int32 or int64
	Boundaries []int64                                                      // ascending: the greatest length of each bucket except the last, which is unbounded
	Sizes      []int64                                                      // batch size of each bucket, one more than Boundaries

	Shapes     [][]int64         // to pad each component to, see [PaddedBatchOptions]
	Values     []tfbridge.Output // to pad each component with, see [PaddedBatchOptions]
	ToBoundary bool              // pad unknown dimensions to the boundary of the bucket; elements longer than the last one are an error
	NoPadding  bool              // Batch in place of PaddedBatch; sparse and ragged parts need it
	Drop       bool              // drop the last batch of each bucket if it has fewer elements

	// Batch makes the batches of a bucket instead: window has the bucket's
	// elements, at most size of them. The fields for padding and Drop must not
	// be set.
	Batch func(window *Dataset, size tfbridge.Output) *Dataset
}

// BucketByLength batches elements of similar length. It yields a batch as soon as it is
// full, and at the end the remaining elements in the order of the buckets. It wraps
// GroupByWindowDataset, PaddedBatchDatasetV2 and BatchDatasetV2.
func (d *Dataset) BucketByLength(name string, b *Buckets) *Dataset {
	d = d.orNone()
	if err := b.check(); err != nil {
		return d.fail("Dataset.BucketByLength", "%w", err)
	}
	if d.scope.Err() == nil && b.Batch == nil && !b.NoPadding && !d.Spec().onlyDense() {
		return d.fail("Dataset.BucketByLength", "elements are %v: sparse and ragged parts need no padding, set NoPadding", d.Spec())
	}
	return d.GroupByWindow(name, &Grouping{
		Key: b.key,
		Size: func(s *graph.Scope, key tfbridge.Output) tfbridge.Output {
			return graph.GatherV2(s, s.Const(b.Sizes), key, 0)
		},
		Reduce: func(s *graph.Scope, key tfbridge.Output, window *Dataset) *Dataset {
			size := graph.GatherV2(s, s.Const(b.Sizes), key, 0)
			switch {
			case b.Batch != nil:
				return b.Batch(window, size)
			case b.NoPadding:
				return window.BatchOutput(size, b.Drop)
			}
			return window.bucket(b, key, size)
		},
	})
}

// key returns the index of an element's bucket: the number of boundaries below its length.
func (b *Buckets) key(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
	length := b.Length(s, args)
	if length.Op == nil {
		s.UpdateErr("Dataset.BucketByLength", millrace.Errorf(millrace.ErrModel, "Length gave no output"))
		return length
	}
	longer := graph.Greater(s, graph.Cast(s, length, tfbridge.Int64), s.Const(b.Boundaries))
	return graph.ReduceSum(s, graph.Cast(s, longer, tfbridge.Int64))
}

// bucket pads a window of one bucket.
func (d *Dataset) bucket(b *Buckets, key, size tfbridge.Output) *Dataset {
	s := d.scope
	o := &PaddedBatchOptions{Shapes: b.Shapes, Values: b.Values, Drop: b.Drop, Size: size}
	if b.ToBoundary {
		inside := graph.Less(s, key, s.Const(int64(len(b.Boundaries))))
		check := graph.Assert(s, inside, []tfbridge.Output{s.Const("an element is longer than the last boundary")}, nil)
		o.fill = graph.GatherV2(s, s.Const(b.Boundaries), graph.Identity(s.WithControlDependencies(check), key), 0)
	}
	return d.PaddedBatch(slices.Max(b.Sizes), o)
}

// check returns an error for invalid buckets.
func (b *Buckets) check() error {
	switch {
	case b == nil || b.Length == nil:
		return millrace.Errorf(millrace.ErrModel, "there is no function Length")
	case len(b.Boundaries) == 0 || len(b.Sizes) != len(b.Boundaries)+1:
		return millrace.Errorf(millrace.ErrModel, "%d boundaries, at least 1 is needed, and %d sizes, one more is", len(b.Boundaries), len(b.Sizes))
	case !slices.IsSorted(b.Boundaries):
		return millrace.Errorf(millrace.ErrModel, "boundaries %v are not ascending", b.Boundaries)
	case slices.Min(b.Sizes) < 1:
		return millrace.Errorf(millrace.ErrModel, "sizes %v of batches, must be at least 1", b.Sizes)
	case b.NoPadding && b.pads():
		return millrace.Errorf(millrace.ErrModel, "padding that NoPadding leaves out")
	case b.Batch != nil && (b.pads() || b.NoPadding || b.Drop):
		return millrace.Errorf(millrace.ErrModel, "padding or Drop beside Batch, which makes the batches")
	}
	return nil
}

// pads reports whether any field for padding is set.
func (b *Buckets) pads() bool { return b.ToBoundary || b.Shapes != nil || b.Values != nil }
