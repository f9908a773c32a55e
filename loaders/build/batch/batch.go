// Package batch builds the stages that join examples to batches.
package batch

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/target"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Batcher batches the examples of a plan.
type Batcher struct {
	*target.Target
	stage.Batch
	parser    *parse.Parser
	processor *process.Processor
}

// New returns a Batcher for the examples of t.
func New(t *target.Target) *Batcher {
	b := &Batcher{Target: t, parser: parse.New(t), processor: process.New(t)}
	b.Batch, _ = stage.Find[stage.Batch](t.Stages)
	return b
}

// Examples batches examples, padded if the plan says so.
func (b *Batcher) Examples(d *dataset.Dataset) *dataset.Dataset {
	if b.Padding == nil {
		return d.Batch(b.Size, b.Full())
	}
	return b.padded(d, tfbridge.Output{})
}

// padded makes padded batches of the plan's size, or, if the size differs from batch to
// batch, of a size that is an output of the graph.
func (b *Batcher) padded(d *dataset.Dataset, size tfbridge.Output) *dataset.Dataset {
	o := &dataset.PaddedBatchOptions{Drop: b.Full()}
	if b.Rows < 0 {
		o.Size = size
	}
	for i, pad := range b.Padding {
		o.Shapes = append(o.Shapes, pad.Shape)
		o.Values = append(o.Values, target.Constant(d.Scope(), pad.Value, b.Tensors[i].DType))
	}
	if b.Trailing() > 0 {
		o.Shapes, o.Values = append(o.Shapes, []int64{}), append(o.Values, d.Scope().Const(int64(0)))
	}
	return d.PaddedBatch(b.Size, o)
}

// mostRequested is how many examples [Batcher.Whole] takes.
const mostRequested = 1 << 16

// Whole makes one batch of all examples of a dataset. Their number is an output of the
// graph.
func (b *Batcher) Whole(d *dataset.Dataset, size tfbridge.Output) []tfbridge.Output {
	size = graph.Cast(d.Scope(), size, tfbridge.Int64)
	if b.Padding == nil {
		return d.BatchOutput(size, false).SingleElement()
	}
	all := *b
	all.Size = mostRequested
	return all.padded(d, size).SingleElement()
}

// Finish turns decoded batches into the plan's tensors. numbered adapts a function to
// elements that may carry a number.
func (b *Batcher) Finish(d *dataset.Dataset, numbered func(Func) Func) *dataset.Dataset {
	if order, ok := b.Engine.ParsingSuffices(true); ok {
		b.Order = order
		return d
	}
	return d.Map("finish", numbered(func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.processor.Derive(s, b.parser.Decode(s, args, []int64{-1}), []int64{-1})
	}), b.MapOptions())
}

// Filtered turns groups of decoded examples into batches of the plan's tensors, with the
// examples that filters keep.
func (b *Batcher) Filtered(d *dataset.Dataset) *dataset.Dataset {
	return b.Keep(d, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.parser.Decode(s, args, []int64{-1})
	})
}

// Keep turns groups of examples into batches of the plan's tensors. features makes the decoded
// features of the components of a group.
func (b *Batcher) Keep(d *dataset.Dataset, features Func) *dataset.Dataset {
	count := b.CountsRead()
	if count {
		d = b.counted(d)
	}
	d = d.Map("filter", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		if !count || len(args) == 0 {
			return b.processor.Derive(s, features(s, args), []int64{-1})
		}
		numbers := args[len(args)-1]
		given := map[string]tfbridge.Output{process.Number: numbers}
		return b.processor.DeriveWith(s, given, features(s, args[:len(args)-1]), []int64{-1})
	}, b.MapOptions())
	return d.Rebatch(b.Size, b.Full())
}

// counted adds to groups of rows the numbers of the rows since the iterator began, from 0.
func (b *Batcher) counted(d *dataset.Dataset) *dataset.Dataset {
	before := b.Before
	if before.Op == nil {
		before = d.Scope().Const(int64(0))
	}
	return d.Scan("count", []tfbridge.Output{before}, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		if s.Err() != nil || len(args) == 0 {
			return nil, nil
		}
		rows := graph.Cast(s, graph.Subscript(s, graph.Shape(s, args[0]), graph.At(0)), tfbridge.Int64)
		end := graph.Add(s, state[0], rows)
		numbers := graph.Range(s, state[0], end, s.Const(int64(1)))
		return []tfbridge.Output{end}, append(args[:len(args):len(args)], numbers)
	})
}

// Func makes the components of an element from the components of another one.
type Func = func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output

// LengthFunc returns the length by which an element is put into a bucket, an int64
// scalar.
type LengthFunc = func(s *graph.Scope, element []tfbridge.Output) tfbridge.Output

// Buckets puts examples into buckets, and batches the examples of a bucket.
func (b *Batcher) Buckets(d *dataset.Dataset) *dataset.Dataset {
	bucket, _ := stage.Find[stage.Bucket](b.Stages)
	i := b.Out.Index(bucket.Tensor)
	return b.BucketsOf(d, func(s *graph.Scope, example []tfbridge.Output) tfbridge.Output {
		return graph.Subscript(s, graph.Shape(s, example[i]), graph.At(int64(bucket.Axis)))
	}, b.padded)
}

// BucketsOf puts elements into the plan's buckets before they become examples. join
// makes one batch of all elements of a window.
func (b *Batcher) BucketsOf(d *dataset.Dataset, length LengthFunc, join func(window *dataset.Dataset, size tfbridge.Output) *dataset.Dataset) *dataset.Dataset {
	bucket, _ := stage.Find[stage.Bucket](b.Stages)
	return d.BucketByLength("bucket", &dataset.Buckets{Length: length, Boundaries: bucket.Boundaries, Sizes: bucket.Sizes, Batch: join})
}
