package loaders

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// builder adds one plan to one graph. TensorFlow checks every operation as it
// is added; the first failure sticks to the scope.
type builder struct {
	plan       *Plan
	scan       *Scan
	scope      *graph.Scope
	group      tfbridge.Output // records parsed at once, fed at the start
	skip       tfbridge.Output // batches left out, fed at the start
	checks     []batchCheck    // what the assertions about batches mean
	decodedRaw bool            // parsing gives raw features decoded
	order      []int           // which component is which tensor, where parsing decides the order; nil: as the plan
}

// fail explains a failure of graph building: the checker should have refused
// the config first.
func (b *builder) fail(err error) error {
	e := millrace.Errorf(millrace.ErrInternal, "build the input pipeline: %w", err)
	e.Loader = b.plan.Path
	return e
}

// dataset builds the stages in the order that the plan's rewrites give.
func (b *builder) dataset() *dataset.Dataset {
	scalar := tfbridge.ScalarShape()
	b.group = b.scope.Placeholder(tfbridge.Int64, scalar)
	b.skip = b.scope.Placeholder(tfbridge.Int64, scalar)
	var d *dataset.Dataset
	if b.plan.Type == Independent {
		d = b.examples()
	} else {
		d = b.windowBatches()
	}
	d = d.SkipOutput(b.skip)
	d = d.Prefetch(b.plan.Prefetch)
	// The plan has chosen the stages and their parallelism: TensorFlow's
	// rewrites found nothing more to do in these graphs, and cost tens of
	// milliseconds before the first batch; its autotuner cost a tenth of the
	// speed (docs/performance.md).
	return d.WithOptions(&dataset.Options{Sloppy: b.plan.Sloppy, NoAutotune: true, NoOptimization: true}).Finalize()
}

// named pairs an element's components with the plan's tensors.
func (b *builder) named(components []tfbridge.Output) []NamedOutput {
	named := make([]NamedOutput, 0, len(b.plan.Tensors))
	for i, t := range b.plan.Tensors {
		from := i
		if b.order != nil {
			from = b.order[i]
		}
		named = append(named, NamedOutput{Name: t.Name, Output: components[from]})
	}
	return named
}

// rows returns the size of a batch as an int64 scalar.
func (b *builder) rows(batch tfbridge.Output) tfbridge.Output {
	return graph.Subscript(b.scope, graph.Shape(b.scope, batch), graph.At(0))
}

// elementShape returns a shape with what stands in front of it.
func elementShape(lead, shape []int64) tfbridge.Shape {
	return tfbridge.MakeShape(append(append([]int64{}, lead...), shape...)...)
}
