package loaders

import (
	"sync/atomic"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Pipeline is a plan built into a graph: a tf.data dataset, its iterator and
// the tensors of the next batch. Fetching any of Tensors in a run takes the
// next batch; all that are fetched in one run are of the same batch.
type Pipeline struct {
	Plan     *Plan
	Iterator *dataset.Iterator
	Tensors  []NamedOutput   // in the order of Plan.Tensors
	Rows     tfbridge.Output // int64 scalar: rows of the batch, for runs that fetch no tensor of it

	scan        *Scan
	group       tfbridge.Output // fed when the iterator starts: records parsed at once
	skip        tfbridge.Output // fed when the iterator starts: batches left out
	groupSize   int64           // records parsed at once
	carefulSize int64           // likewise, after a failure
	checks      []batchCheck
	probe       *dataset.Iterator             // of an endless loader that may give nothing
	reading     atomic.Bool                   // a Run is being ranged over
	ended       atomic.Pointer[chan struct{}] // closed when the producer of the last Run has ended
}

// NamedOutput is a tensor of a graph under the name its users know it by.
type NamedOutput struct {
	Name   string
	Output tfbridge.Output
}

// Build adds the plan's dataset and an iterator over it to the graph of s.
// [Pipeline.Run] reads it in a session of that graph.
// The scan tells how many records to expect, so that a file that TensorFlow
// takes for a shorter one is an error.
func (p *Plan) Build(s *graph.Scope, scan *Scan) (*Pipeline, error) {
	if err := p.needNative(); err != nil {
		return nil, err
	}
	b := &builder{plan: p, scan: scan, scope: s.SubScope("loader")}
	d := b.dataset()
	if s.Err() != nil {
		return nil, b.fail(s.Err())
	}
	it := d.Iterator("iterator")
	pipe := &Pipeline{Plan: p, Iterator: it, scan: scan, group: b.group, skip: b.skip, groupSize: b.groupSize(), carefulSize: b.carefulSize(), checks: b.checks, probe: b.addProbe()}
	if err := s.Err(); err != nil {
		return nil, b.fail(err)
	}
	next := it.NextInline()
	pipe.Tensors = b.named(next)
	pipe.Rows = b.rows(next[0])
	if err := s.Err(); err != nil {
		return nil, b.fail(err)
	}
	return pipe, nil
}
