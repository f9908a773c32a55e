package dataset

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Repeat repeats the elements n times, endlessly if n is negative.
func (d *Dataset) Repeat(n int64) *Dataset {
	d = d.orNone()
	return d.same("RepeatDataset", nil, d.scope.Const(n)).neverEnds(n < 0 || d.endless)
}

// Take keeps the first n elements, all if n is negative.
func (d *Dataset) Take(n int64) *Dataset {
	d = d.orNone()
	return d.same("TakeDataset", nil, d.scope.Const(n))
}

// Skip drops the first n elements, all if n is negative.
func (d *Dataset) Skip(n int64) *Dataset {
	d = d.orNone()
	return d.same("SkipDataset", nil, d.scope.Const(n))
}

// Shard keeps every n-th element, starting with element i.
func (d *Dataset) Shard(n, i int64) *Dataset {
	d = d.orNone()
	return d.same("ShardDataset", nil, d.scope.Const(n), d.scope.Const(i))
}

// Concatenate yields the elements of d, then those of other. Components must have the same
// data types. A dimension in which they differ is unknown in the result.
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
	both := d.then("ConcatenateDataset", specs, nil, other.read())
	if d.structure == nil || other.structure == nil || both.scope.Err() != nil {
		return both
	}
	tree, err := d.structure.common(other.structure)
	if err != nil {
		return d.fail("Dataset.Concatenate", "%w", err)
	}
	return both.as(tree)
}

// mostSpecific returns the most specific shape that is compatible with both.
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

// Zip joins one element of each dataset to a tuple. It ends with the shortest dataset. It
// needs at least one dataset.
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
		variants = append(variants, d.read())
		parts = append(parts, d.Spec())
	}
	return add(s, "ZipDataset", specs, nil, variants).as(TupleSpec(parts...))
}

// Enumerate puts a number before the components of each element: an int64 that counts from
// start.
func (d *Dataset) Enumerate(start int64) *Dataset {
	d = d.orNone()
	return Zip(d.scope, Range(d.scope, start, math.MaxInt64, 1), d)
}

// ShuffleOptions are the options of [Dataset.Shuffle].
type ShuffleOptions struct {
	Seed, Seed2 int64 // both 0: another order in every process; Python's seed=n is [DefaultSeed], n
	Fixed       bool  // the same order in every repetition; default: another order in each
}

// Shuffle yields elements in random order: it draws each from a buffer of the next
// ones. If Repeat follows, every repetition is shuffled again. The same seeds give the
// same orders in every process.
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

// GlobalShuffle yields the elements of the whole dataset in random order, without a buffer.
// d must have random access, as [Range], [FromSlices] and maps and batches of these do.
// Other datasets fail with code FailedPrecondition when an iterator is initialized. The
// seeds are those of [Dataset.Shuffle]. It wraps GlobalShuffleDataset.
func (d *Dataset) GlobalShuffle(o *ShuffleOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &ShuffleOptions{}
	}
	s := d.scope
	return d.same("GlobalShuffleDataset", attrs{"reshuffle_each_iteration": !o.Fixed},
		s.Const(o.Seed), s.Const(o.Seed2), s.Op1("DummySeedGenerator", nil))
}

// ShuffleOutput is [Dataset.Shuffle] with seeds that are outputs of the graph: int64 scalars
// that are not both 0. If Repeat follows, every repetition has the same order.
func (d *Dataset) ShuffleOutput(buffer int64, seed, seed2 tfbridge.Output) *Dataset {
	d = d.orNone()
	limit.Between(1, limit.ShuffleBuffer).Check(d.scope, "ShuffleDataset: buffer size", buffer)
	return d.same("ShuffleDataset", attrs{"reshuffle_each_iteration": false},
		d.scope.Const(buffer), seed, seed2)
}

// Unique drops elements that occurred before. Elements have one component, of int32, int64
// or string. Unique keeps all elements so far in memory. It wraps UniqueDataset.
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
