package dataset

import (
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// ChooseOptions are the options of [Choose].
type ChooseOptions struct {
	// StopOnEmpty ends the dataset when a chosen dataset has no more elements. Without
	// it such choices are skipped. The choices must then be finite; otherwise an
	// iterator restored from a checkpoint may never end.
	StopOnEmpty bool
}

// Choose takes each element from one of the datasets. choices, a dataset of int64
// scalars, selects it by its index. The datasets must have the same structure;
// dimensions in which they differ are unknown in the result. It wraps
// DirectedInterleaveDataset.
func Choose(s *graph.Scope, choices *Dataset, datasets []*Dataset, o *ChooseOptions) *Dataset {
	if o == nil {
		o = &ChooseOptions{}
	}
	if !usable(s, "Choose: choices", choices) {
		return &Dataset{scope: s}
	}
	if len(choices.specs) != 1 || choices.specs[0].DType != tfbridge.Int64 || choices.specs[0].Shape.NumDimensions() > 0 {
		s.UpdateErr("Choose", millrace.Errorf(millrace.ErrModel, "choices are %v, must be int64 scalars", choices.Spec()))
	}
	return directed(s, "Choose", choices, datasets, o.StopOnEmpty)
}

// directed interleaves datasets in the order that the elements of choices give.
func directed(s *graph.Scope, what string, choices *Dataset, datasets []*Dataset, stop bool) *Dataset {
	tree := alike(s, what, datasets)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	var variants tfbridge.OutputList
	for _, d := range datasets {
		variants = append(variants, d.read())
	}
	return add(s, "DirectedInterleaveDataset", tree.Specs(), attrs{"stop_on_empty_dataset": stop},
		choices.read(), variants).as(tree)
}

// alike returns the structure that elements of all datasets have.
func alike(s *graph.Scope, what string, datasets []*Dataset) *Structure {
	if len(datasets) == 0 {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "there are no datasets"))
	}
	if !usable(s, what, datasets...) {
		return TupleSpec()
	}
	tree := datasets[0].Spec()
	for _, d := range datasets[1:] {
		both, err := tree.common(d.Spec())
		if err != nil {
			s.UpdateErr(what, err)
			return TupleSpec()
		}
		tree = both
	}
	return tree
}

// SampleOptions are the options of [Sample].
type SampleOptions struct {
	Weights     []float64 // relative frequency of each dataset, unnormalised; nil: all equal
	WeightsOf   *Dataset  // instead of Weights: for every element of the result, a vector of float32 or float64
	Seed, Seed2 int64     // both 0: another order in every process; Python's seed=n is [DefaultSeed], n
	Vary        bool      // another order in every repetition; default the same one
	StopOnEmpty bool      // end when a dataset is chosen that has no more elements; default: continue with the others
}

// Sample takes each element from a dataset chosen at random, until all have ended. The same
// seeds give the same order in every process. It wraps DirectedInterleaveDataset,
// RandomDataset and StatelessMultinomial.
//
// Without StopOnEmpty the iterator's state must hold which datasets have ended, and an
// element costs about three times as much, unless every dataset ends with Repeat(-1). With
// WeightsOf the state does not hold this. The weights must then be finite; otherwise an
// iterator restored from a checkpoint may never end.
func Sample(s *graph.Scope, datasets []*Dataset, o *SampleOptions) *Dataset {
	if o == nil {
		o = &SampleOptions{}
	}
	alike(s, "Sample", datasets)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	numbers := Random(s, &RandomOptions{Seed: o.Seed, Seed2: o.Seed2, Vary: o.Vary}).Batch(2, false)
	if o.WeightsOf != nil {
		// If the weights end, so do the choices.
		return directed(s, "Sample", o.choicesOf(s, len(datasets), numbers), datasets, o.StopOnEmpty)
	}
	weights, err := o.weights(len(datasets))
	if err != nil {
		s.UpdateErr("Sample", err)
		return &Dataset{scope: s}
	}
	var chosen []*Dataset
	var logits []float32
	for i, d := range datasets {
		if weights[i] > 0 {
			chosen, logits = append(chosen, d), append(logits, float32(math.Log(weights[i])))
		}
	}
	if len(chosen) == 1 {
		return chosen[0].In(s)
	}
	choices := numbers.Map("choice", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{choice(s, s.Const([][]float32{logits}), args[0])}
	}, &MapOptions{Inline: true})
	if o.StopOnEmpty || allEndless(chosen) {
		return directed(s, "Sample", choices, chosen, o.StopOnEmpty)
	}
	return untilAllEnd(s, choices, chosen)
}

// allEndless reports whether all datasets are known to be endless.
func allEndless(datasets []*Dataset) bool {
	return !slices.ContainsFunc(datasets, func(d *Dataset) bool { return !d.endless })
}

// choice draws the index of a dataset.
func choice(s *graph.Scope, logits, seed tfbridge.Output) tfbridge.Output {
	drawn := s.Op1("StatelessMultinomial", map[string]any{"output_dtype": tfbridge.Int64}, logits, s.Const(int32(1)), seed)
	return graph.Squeeze(s, drawn, 0, 1)
}

// weights returns a weight for each of n datasets.
func (o *SampleOptions) weights(n int) ([]float64, error) {
	weights := o.Weights
	if weights == nil {
		weights = make([]float64, n)
		for i := range weights {
			weights[i] = math.E // its logarithm is 1, as in Python
		}
	}
	if len(weights) != n {
		return nil, millrace.Errorf(millrace.ErrModel, "%d weights for %d datasets", len(weights), n)
	}
	sum := 0.0
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, millrace.Errorf(millrace.ErrModel, "weight %d is %v", i, w)
		}
		sum += w
	}
	if sum == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "all weights are 0")
	}
	return weights, nil
}

// choicesOf returns the choices drawn with a dataset of weights.
func (o *SampleOptions) choicesOf(s *graph.Scope, n int, numbers *Dataset) *Dataset {
	if !usable(s, "Sample: weights", o.WeightsOf) {
		return &Dataset{scope: s}
	}
	p := o.WeightsOf.Specs()
	if len(p) != 1 || p[0].DType != tfbridge.Float && p[0].DType != tfbridge.Double ||
		p[0].Shape.NumDimensions() >= 0 && p[0].Shape.NumDimensions() != 1 ||
		p[0].Shape.Size(0) >= 0 && p[0].Shape.Size(0) != int64(n) {
		s.UpdateErr("Sample", millrace.Errorf(millrace.ErrModel, "weights are %v, must be a vector of %d numbers", o.WeightsOf.Spec(), n))
	}
	return Zip(s, o.WeightsOf, numbers).Map("choice", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{choice(s, graph.ExpandDims(s, s.Op1("Log", nil, args[0]), 0), args[1])}
	}, &MapOptions{Inline: true})
}

// untilAllEnd interleaves datasets by endless choices, until all datasets have ended.
//
// DirectedInterleaveDataset could do that alone, but its saved state does not hold
// which inputs have ended. A restored iterator would look for further elements forever.
// So its inputs here never end: after its last element, each yields empty optionals
// forever. A scan counts the inputs that have reached their ends, and the scan's state
// is saved.
func untilAllEnd(s *graph.Scope, choices *Dataset, datasets []*Dataset) *Dataset {
	tree := alike(s, "Sample", datasets)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	endless := make([]*Dataset, len(datasets))
	for i, d := range datasets {
		endless[i] = d.In(s).optional(int64(i))
	}
	all := directed(s, "Sample", choices, endless, true)
	n := len(datasets)
	ended := []tfbridge.Output{s.Const(make([]bool, n))}
	marked := all.Scan("ended", ended, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		empty := s.Op1("LogicalNot", nil, s.Op1("OptionalHasValue", nil, args[1]))
		here := graph.Equal(s, graph.Range(s, s.Const(int64(0)), s.Const(int64(n)), s.Const(int64(1))), args[0])
		now := s.Op1("LogicalOr", nil, state[0], s.Op1("LogicalAnd", nil, here, empty))
		now = graph.EnsureShape(s, now, tfbridge.MakeShape(int64(n)))
		some := s.Op1("LogicalNot", nil, s.Op1("All", nil, now, s.Const([]int32{0})))
		return []tfbridge.Output{now}, []tfbridge.Output{some, args[1]}
	})
	return marked.
		TakeWhile("some", func(_ *graph.Scope, args []tfbridge.Output) tfbridge.Output { return args[0] }).
		Filter("element", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return s.Op1("OptionalHasValue", nil, args[1])
		}).
		Map("value", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			specs := tree.Specs()
			return s.Op("OptionalGetValue", map[string]any{
				"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs),
			}, args[1])
		}, &MapOptions{Inline: true}).as(tree)
}

// optional yields i and each element as an optional, and then i and an empty optional
// forever.
func (d *Dataset) optional(i int64) *Dataset {
	values := d.Map("optional", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{s.Const(i), s.Op1("OptionalFromValue", nil, tfbridge.OutputList(args))}
	}, &MapOptions{Inline: true})
	none := FromTensors(d.scope, d.scope.Const(i)).Map("none", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{args[0], s.Op1("OptionalNone", nil)}
	}, nil).Repeat(-1)
	return values.Concatenate(none)
}

// IgnoreErrors drops elements that fail. An error while reading a file silently ends
// that file, so count the elements.
func (d *Dataset) IgnoreErrors() *Dataset {
	d = d.orNone()
	return d.same("IgnoreErrorsDataset", nil)
}

// ResampleOptions are the options of [Dataset.RejectionResample].
type ResampleOptions struct {
	Initial     []float64 // class frequencies in d, unnormalised; nil: estimated from the elements so far
	Seed, Seed2 int64     // both 0: other elements in every process
}

// ClassFunc makes the class of an element, a scalar of int32 or int64 from 0,
// from its components.
type ClassFunc func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output

// RejectionResample drops elements at random so that the classes have the frequencies
// of target, which need not be normalised. An element of the result is a tuple of the
// class, an int64, and the element. All elements of the class that is rarest compared
// with the target are kept. Python's implementation reads d twice at a time and returns
// some elements twice; this one does not, and its iterators can be saved. It wraps
// ScanDataset, FilterDataset and StatelessRandomUniform.
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

// counts returns the initial class counts.
func (o *ResampleOptions) counts(n int) []float64 {
	if o.Initial != nil {
		return slices.Clone(o.Initial)
	}
	// The initial counts keep the first elements from deciding alone.
	return slices.Repeat([]float64{10}, n)
}

// check reports impossible distributions.
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
