package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/tfbridge"
)

// builder adds one plan to one graph. TensorFlow checks every operation as it
// is added; the first failure sticks to the scope.
type builder struct {
	plan     *plan.Plan
	scan     *plan.Scan
	scope    *graph.Scope
	group    tfbridge.Output       // records parsed at once, fed at the start
	skip     tfbridge.Output       // batches left out, fed at the start
	held     tfbridge.Output       // positions of the records that buckets hold, fed at the start; see held_records.go
	prefetch tfbridge.Output       // batches that tf.data prepares ahead, fed at the start
	checks   []batchCheck          // what the assertions about batches mean
	left     *quarantine.List      // records that are left out; nil: the first bad record is an error
	passed   *quarantine.Positions // of them, where the plan seeks
	unplaced bool                  // records do not carry their places
	order    []int                 // which component is which tensor, where parsing decides the order; nil: as the plan
}

// fail explains a failure of graph building: the checker should have refused
// the config first.
func (b *builder) fail(err error) error {
	e := millrace.Errorf(millrace.ErrInternal, "build the input pipeline: %w", err)
	e.Loader = b.plan.Path
	return e
}

// dropRemainder reports whether a short last batch is dropped. An endless
// dataset has none, and saying so makes the batch dimension static.
func (b *builder) dropRemainder() bool { return b.plan.DropRemainder || b.plan.Epochs == 0 }

// mapOptions returns how parsing runs: its parallelism, and whether batches
// may overtake each other.
func (b *builder) mapOptions() *dataset.MapOptions {
	return &dataset.MapOptions{Parallel: b.plan.ParallelParses, Sloppy: b.plan.Sloppy}
}

// constant adds a scalar of a dtype. The value is one that the dtype holds.
func (b *builder) constant(s *graph.Scope, value any, dtype tfbridge.DataType) tfbridge.Output {
	return graph.Cast(s, s.Const(value), dtype)
}

// elementShape returns a shape with what stands in front of it.
func elementShape(lead, shape []int64) tfbridge.Shape {
	return tfbridge.MakeShape(append(append([]int64{}, lead...), shape...)...)
}

// int64Vector returns a vector that is a constant even when it is empty.
func int64Vector(v []int64) []int64 { return append(make([]int64, 0, len(v)), v...) }
