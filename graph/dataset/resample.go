package dataset

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// ResampleOptions are the options of [Dataset.RejectionResample].
type ResampleOptions struct {
	Initial     []float64 // how often each class comes in d, of any sum; nil: as counted so far
	Seed, Seed2 int64     // both 0: other elements in every process
}

// ClassFunc makes the class of an element, a scalar of int32 or int64 from 0,
// from its components.
type ClassFunc func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output

// RejectionResample leaves out elements at random so that the classes come as
// often as target says, numbers of any sum: a tuple of the class, an int64, and
// the element. The class that d has least of, by the target, is kept whole.
// Unlike Python's, which reads d twice at a time and gives some elements twice,
// it gives none twice, and its iterators can be saved. It wraps ScanDataset,
// FilterDataset and StatelessRandomUniform.
func (d *Dataset) RejectionResample(name string, class ClassFunc, target []float64, o *ResampleOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &ResampleOptions{}
	}
	const what = "Dataset.RejectionResample"
	s := d.scope
	if class == nil {
		return d.fail(what, "function %q is nil", name)
	}
	if err := o.check(target); err != nil {
		return d.fail(what, "%w", err)
	}
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	counts := []tfbridge.Output{s.Const(o.counts(len(target)))}
	drawn := Zip(s, Random(s, &RandomOptions{Seed: o.Seed, Seed2: o.Seed2}).Batch(2, true), d)
	marked := drawn.Scan(name, counts, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		c := graph.Cast(s, class(s, slices.Clone(args[1:])), tfbridge.Int64)
		now := state[0]
		if o.Initial == nil {
			classes := graph.Range(s, s.Const(int64(0)), s.Const(int64(len(target))), s.Const(int64(1)))
			now = graph.Add(s, now, graph.Cast(s, graph.Equal(s, classes, c), tfbridge.Double))
			now = graph.EnsureShape(s, now, tfbridge.MakeShape(int64(len(target))))
		}
		ratios := s.Op1("RealDiv", nil, s.Const(target), now)
		largest := graph.Max(s, ratios, s.Const([]int32{0}))
		accept := s.Op1("RealDiv", nil, graph.GatherV2(s, ratios, c, 0), largest)
		draw := s.Op1("StatelessRandomUniform", map[string]any{"dtype": tfbridge.Double}, s.Const([]int32{}), args[0])
		return []tfbridge.Output{now}, append([]tfbridge.Output{graph.Less(s, draw, accept), c}, args[1:]...)
	})
	kept := marked.Filter(name+"_accepted", func(_ *graph.Scope, args []tfbridge.Output) tfbridge.Output { return args[0] })
	number := DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	return kept.Map(name+"_element", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return args[1:]
	}, nil).as(TupleSpec(number, d.Spec()))
}

// counts returns what classes are counted from.
func (o *ResampleOptions) counts(n int) []float64 {
	if o.Initial != nil {
		return slices.Clone(o.Initial)
	}
	// So that the first elements do not decide.
	return slices.Repeat([]float64{10}, n)
}

// check reports distributions that cannot be.
func (o *ResampleOptions) check(target []float64) error {
	positive := func(w float64) bool { return w > 0 }
	switch {
	case len(target) == 0 || !slices.ContainsFunc(target, positive):
		return millrace.Errorf(millrace.ErrModel, "the target %v has no class", target)
	case o.Initial != nil && len(o.Initial) != len(target):
		return millrace.Errorf(millrace.ErrModel, "%d classes in the target, %d to begin with", len(target), len(o.Initial))
	case slices.ContainsFunc(target, func(w float64) bool { return !(w >= 0) }):
		return millrace.Errorf(millrace.ErrModel, "the target %v has numbers that are not at least 0", target)
	case slices.ContainsFunc(o.Initial, func(w float64) bool { return !(w > 0) }):
		return millrace.Errorf(millrace.ErrModel, "the classes to begin with, %v, have numbers that are not above 0", o.Initial)
	}
	return nil
}

// Fingerprint returns a uint64 scalar that two datasets share if their graphs
// are alike: the same operations, functions and constants. It wraps
// DatasetFingerprint.
func (d *Dataset) Fingerprint() tfbridge.Output {
	d = d.orNone()
	return d.scope.Op1("DatasetFingerprint", nil, d.variant)
}
