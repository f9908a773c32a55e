package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
)

// Build adds the plan's dataset and an iterator over it to the graph of s. The
// scan tells how many records to expect, so that a file that TensorFlow takes
// for a shorter one is an error.
func Build(s *graph.Scope, p *plan.Plan, scan *plan.Scan) (*Parts, error) {
	l, err := loaderOf(p)
	if err != nil {
		return nil, err
	}
	if err := needNative(p); err != nil {
		return nil, err
	}
	b := &builder{plan: p, scan: scan, scope: s.SubScope("loader"), left: check.NewQuarantine(p.Spec, p.Quarantine, scan), passed: &quarantine.Positions{}}
	d := b.dataset(l)
	if s.Err() != nil {
		return nil, b.fail(s.Err())
	}
	it := d.Iterator("iterator")
	parts := &Parts{
		Plan: p, Scan: scan, Dataset: d, Iterator: it, Group: b.group, Skip: b.skip, Held: b.held, Prefetch: b.prefetch, Probe: b.probe(l),
		Quarantine: b.left, Passed: b.passed, checks: b.checks,
	}
	if known, ok := l.(placer); ok {
		parts.Place = known.place(b)
	}
	if err := s.Err(); err != nil {
		return nil, b.fail(err)
	}
	if p.TimeStages {
		parts.Model = s.Op1("IteratorGetModelProto", nil, it.Resource)
	}
	next := it.NextInline()
	parts.Tensors = b.named(next)
	parts.Rows = b.rows(next[0])
	if p.Engine().HoldsPositions() || p.Engine().NumbersElements() {
		parts.Positions = next[len(next)-1]
	}
	if err := s.Err(); err != nil {
		return nil, b.fail(err)
	}
	return parts, nil
}

// dataset builds the stages of all loader types around those of one.
func (b *builder) dataset(l loader) *dataset.Dataset {
	scalar := tfbridge.ScalarShape()
	b.group = b.scope.Placeholder(tfbridge.Int64, scalar)
	b.skip = b.scope.Placeholder(tfbridge.Int64, scalar)
	b.prefetch = b.scope.Placeholder(tfbridge.Int64, scalar)
	if b.plan.Engine().HoldsPositions() {
		b.held = b.scope.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	}
	d := l.batches(b)
	if !b.plan.Engine().Seeks() && !b.plan.Engine().Replays() {
		d = d.SkipOutput(b.skip)
	}
	if b.plan.Engine().RunPrefetches() {
		d = d.PrefetchOutput(b.prefetch)
	} else {
		d = d.Prefetch(b.plan.Prefetch)
	}
	// The plan has chosen the stages and their parallelism: TensorFlow's
	// rewrites found nothing more to do in these graphs, and cost tens of
	// milliseconds before the first batch; its autotuner cost a tenth of the
	// speed (docs/performance.md). Without it there are no times of stages.
	return d.WithOptions(&dataset.Options{Sloppy: b.plan.Sloppy, NoAutotune: !b.plan.TimeStages, NoOptimization: true}).Finalize()
}

// probe adds the iterator [Parts.Probe]. A loader over files without records, or
// too short for a window, would look for the first one in every epoch. Files that
// Go can read are measured by [plan.Plan.Scan]; for others the probe looks for it
// before the first batch.
func (b *builder) probe(l loader) *dataset.Iterator {
	if b.plan.Epochs == 1 || !b.plan.HasRemoteFiles() {
		return nil
	}
	d := l.probe(&builder{plan: b.plan, scan: b.scan, scope: b.scope.SubScope("probe"), group: b.group})
	if d == nil {
		return nil
	}
	return d.Take(1).Iterator("iterator")
}

// named pairs an element's components with the plan's tensors.
func (b *builder) named(components []tfbridge.Output) []steps.NamedOutput {
	named := make([]steps.NamedOutput, 0, len(b.plan.Tensors))
	for i, t := range b.plan.Tensors {
		from := i
		if b.order != nil {
			from = b.order[i]
		}
		named = append(named, steps.NamedOutput{Name: t.Name, Output: components[from]})
	}
	return named
}

// rows returns the size of a batch as an int64 scalar.
func (b *builder) rows(batch tfbridge.Output) tfbridge.Output {
	return graph.Subscript(b.scope, graph.Shape(b.scope, batch), graph.At(0))
}
