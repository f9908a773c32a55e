package dataset

import (
	"math"

	"millrace/graph/dataset/internal/limit"
)

// InterleaveOptions are the options of [Dataset.Interleave].
type InterleaveOptions struct {
	CycleLength int64 // datasets open at a time; default 1
	BlockLength int64 // elements taken from one before the next; default 1
	Parallel    int64 // datasets read at a time, at most CycleLength; 0: one after the other; [Autotune]
	Sloppy      bool  // with Parallel: hand elements out as they are ready
	InBuffer    int64 // with Parallel: datasets opened ahead; default 0; [Autotune]
	OutBuffer   int64 // with Parallel: elements read ahead of each dataset; default 1; [Autotune]
}

// Interleave makes a dataset of every element and gives their elements, taking
// turns between CycleLength of them.
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
	if o.Parallel == 0 {
		return d.then("InterleaveDataset", inner.specs, more, f.Inputs(), s.Const(cycle), s.Const(block)).shapedAs(inner)
	}
	more["deterministic"] = determinism(o.Sloppy)
	out := o.OutBuffer
	if out == 0 {
		out = 1 // TensorFlow takes no 0
	}
	return d.then("ParallelInterleaveDatasetV4", inner.specs, more, f.Inputs(),
		s.Const(cycle), s.Const(block), s.Const(out), s.Const(o.InBuffer), s.Const(min(o.Parallel, cycle))).shapedAs(inner)
}
