package dataset

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Repeat gives the elements n times over, endlessly if n is negative.
func (d *Dataset) Repeat(n int64) *Dataset {
	d = d.orNone()
	return d.same("RepeatDataset", nil, d.scope.Const(n)).neverEnds(n < 0 || d.endless)
}

// Take gives the first n elements, all if n is negative.
func (d *Dataset) Take(n int64) *Dataset {
	d = d.orNone()
	return d.same("TakeDataset", nil, d.scope.Const(n))
}

// Skip leaves out the first n elements, all if n is negative.
func (d *Dataset) Skip(n int64) *Dataset {
	d = d.orNone()
	return d.same("SkipDataset", nil, d.scope.Const(n))
}

// Shard gives every n-th element, starting with element i.
func (d *Dataset) Shard(n, i int64) *Dataset {
	d = d.orNone()
	return d.same("ShardDataset", nil, d.scope.Const(n), d.scope.Const(i))
}

// Concatenate gives the elements of d, then those of other. Components must
// agree in type; a dimension in which they differ is unknown in the result.
func (d *Dataset) Concatenate(other *Dataset) *Dataset {
	d = d.orNone()
	if !usable(d.scope, "Dataset.Concatenate", d, other) {
		return &Dataset{scope: d.scope}
	}
	if len(d.specs) != len(other.specs) {
		return d.fail("ConcatenateDataset", "%d components and %d", len(d.specs), len(other.specs))
	}
	specs := make([]graph.Spec, len(d.specs))
	for i, p := range d.specs {
		if p.DType != other.specs[i].DType {
			return d.fail("ConcatenateDataset", "component %d is a %v and a %v", i, p, other.specs[i])
		}
		specs[i] = graph.Spec{DType: p.DType, Shape: mostSpecific(p.Shape, other.specs[i].Shape)}
	}
	both := d.then("ConcatenateDataset", specs, nil, other.variant)
	if d.structure == nil || other.structure == nil || both.scope.Err() != nil {
		return both
	}
	tree, err := d.structure.common(other.structure)
	if err != nil {
		return d.fail("Dataset.Concatenate", "%w", err)
	}
	return both.as(tree)
}

// mostSpecific returns what two shapes have in common.
func mostSpecific(a, b tfbridge.Shape) tfbridge.Shape {
	if a.NumDimensions() < 0 || a.NumDimensions() != b.NumDimensions() {
		return tfbridge.Shape{}
	}
	dims := make([]int64, a.NumDimensions())
	for i := range dims {
		dims[i] = a.Size(i)
		if dims[i] != b.Size(i) {
			dims[i] = -1
		}
	}
	return tfbridge.MakeShape(dims...)
}

// Zip gives elements with the components of one element of each dataset, a
// tuple; it ends with the shortest. There must be one dataset at least.
func Zip(s *graph.Scope, datasets ...*Dataset) *Dataset {
	if !usable(s, "Zip", datasets...) {
		return &Dataset{scope: s}
	}
	if len(datasets) == 0 {
		s.UpdateErr("Zip", millrace.Errorf(millrace.ErrModel, "there are no datasets"))
	}
	var specs []graph.Spec
	var variants tfbridge.OutputList
	var parts []*Structure
	for _, d := range datasets {
		specs = append(specs, d.specs...)
		variants = append(variants, d.variant)
		parts = append(parts, d.Spec())
	}
	return add(s, "ZipDataset", specs, nil, variants).as(TupleSpec(parts...))
}

// Enumerate puts the ordinal of each element, an int64 from start on, before
// its components.
func (d *Dataset) Enumerate(start int64) *Dataset {
	d = d.orNone()
	return Zip(d.scope, Range(d.scope, start, math.MaxInt64, 1), d)
}

// ShuffleOptions are the options of [Dataset.Shuffle].
type ShuffleOptions struct {
	Seed, Seed2 int64 // both 0: another order in every process; Python's seed=n is [DefaultSeed], n
	Fixed       bool  // the same order in every repetition; default another one in each
}

// Shuffle gives elements in random order: each is drawn from a buffer of the
// next ones. Repeated after it, every repetition is shuffled by itself, and
// the same seeds give the same orders in every process.
func (d *Dataset) Shuffle(buffer int64, o *ShuffleOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &ShuffleOptions{}
	}
	s := d.scope
	limit.Between(1, limit.ShuffleBuffer).Check(s, "ShuffleDatasetV3: buffer size", buffer)
	return d.shuffled(s.Const(buffer), o)
}

func (d *Dataset) shuffled(buffer tfbridge.Output, o *ShuffleOptions) *Dataset {
	s := d.scope
	generator := s.Op1("DummySeedGenerator", nil)
	return d.same("ShuffleDatasetV3", attrs{"reshuffle_each_iteration": !o.Fixed},
		buffer, s.Const(o.Seed), s.Const(o.Seed2), generator).neverEnds(d.endless)
}

// GlobalShuffle gives elements in random order, each drawn from the whole
// dataset without a buffer: d must be able to give any element at once, as
// [Range], [FromSlices] and maps and batches of these are. Others fail with
// code FailedPrecondition when an iterator is initialized. The seeds are those
// of [Dataset.Shuffle]. It wraps GlobalShuffleDataset.
func (d *Dataset) GlobalShuffle(o *ShuffleOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &ShuffleOptions{}
	}
	s := d.scope
	return d.same("GlobalShuffleDataset", attrs{"reshuffle_each_iteration": !o.Fixed},
		s.Const(o.Seed), s.Const(o.Seed2), s.Op1("DummySeedGenerator", nil))
}

// ShuffleOutput is [Dataset.Shuffle] with seeds that are outputs of the graph,
// int64 scalars that are not both 0. Repeated after it, every repetition is in
// the same order.
func (d *Dataset) ShuffleOutput(buffer int64, seed, seed2 tfbridge.Output) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.ShuffleBuffer).Check(d.scope, "ShuffleDataset: buffer size", buffer)
	return d.same("ShuffleDataset", attrs{"reshuffle_each_iteration": false},
		d.scope.Const(buffer), seed, seed2)
}

// Unique gives the elements that did not come before. Elements have one
// component, of int32, int64 or strings; those seen are kept in memory. It
// wraps UniqueDataset.
func (d *Dataset) Unique() *Dataset {
	d = d.orNone()
	if d.scope.Err() == nil {
		ok := len(d.specs) == 1
		if ok {
			switch d.specs[0].DType {
			case tfbridge.Int32, tfbridge.Int64, tfbridge.String:
			default:
				ok = false
			}
		}
		if !ok {
			return d.fail("Dataset.Unique", "elements are %v, must be one tensor of int32, int64 or string", d.Spec())
		}
	}
	return d.same("UniqueDataset", nil)
}
