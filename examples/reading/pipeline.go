package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/internal/tool/output"
	"millrace/tfbridge"
)

// pipeline is the pipeline in a graph.
type pipeline struct {
	names   []string          // names of the tensors of a batch
	batch   []tfbridge.Output // tensors in the order of the names
	sources []*source
}

// build adds the pipeline to a graph:
//
//	file names, shuffled, a number of epochs
//	   -> queue of names -> readers -> decoders -> filter -> queue of examples -> batch
func build(s *graph.Scope, p program, o *options) *pipeline {
	files := train.StringInputProducer(s, s.Const(o.files), &train.ProducerOptions{
		NumEpochs: o.epochs, InOrder: !o.shuffle, Seed: o.graphSeed(), Seed2: o.seed,
	})
	readers := make([]*reader.Reader, o.readers)
	for i := range readers {
		readers[i] = p.reader(s)
	}
	built := &pipeline{names: []string{"key"}}
	var examples []train.Tensors
	for i := range max(o.threads, o.readers) {
		src, record := newSource(s, readers[i%len(readers)], files)
		built.sources = append(built.sources, src)
		tensors := p.decode(s, record)
		outputs := []tfbridge.Output{src.key}
		for _, t := range tensors {
			outputs = append(outputs, t.output)
			if i == 0 {
				built.names = append(built.names, t.name)
			}
		}
		if o.filter {
			outputs = filter(s, record, outputs)
		}
		examples = append(examples, train.Tensors{Dense: outputs})
	}
	built.batch = batch(s, examples, o).Dense
	return built
}

// graphSeed returns the first of the two seeds that make Python's seed.
func (o *options) graphSeed() int64 {
	if o.seed == 0 {
		return 0
	}
	return queue.DefaultSeed
}

// filter makes a batch of one example or of none from an example. Which examples are
// left out depends on a fingerprint of the record.
func filter(s *graph.Scope, record tfbridge.Output, outputs []tfbridge.Output) []tfbridge.Output {
	bucket := s.Op1("StringToHashBucketFast", map[string]any{"num_buckets": int64(2)}, record)
	keep := graph.Reshape(s, graph.Equal(s, bucket, s.Const(int64(0))), s.Const([]int64{1}))
	rows := graph.Reshape(s, graph.Where(s, keep), s.Const([]int64{-1}))
	kept := make([]tfbridge.Output, len(outputs))
	for i, x := range outputs {
		kept[i] = graph.GatherV2(s, graph.ExpandDims(s, x, 0), rows, 0)
	}
	return kept
}

// batch adds the queue of examples.
func batch(s *graph.Scope, examples []train.Tensors, o *options) train.Tensors {
	enqueue := train.EnqueueOptions{EnqueueMany: o.filter, AllowSmallerFinalBatch: o.smallerFinal}
	recommended := train.RecommendedCapacity(o.minAfterDequeue, len(examples), o.batch)
	capacity := cmp.Or(o.capacity, recommended)
	if o.shuffle {
		return train.ShuffleBatchJoin(s, examples, o.batch, &train.ShuffleBatchOptions{
			MinAfterDequeue: o.minAfterDequeue, Capacity: capacity, Seed: o.graphSeed(), Seed2: o.seed, EnqueueOptions: enqueue,
		})
	}
	return train.BatchJoin(s, examples, o.batch, &train.BatchOptions{Capacity: capacity, EnqueueOptions: enqueue})
}

// read runs a program, prints the batches and returns their number.
func read(ctx context.Context, o *options, out io.Writer) (batches int, err error) {
	p := programs[o.program]()
	if err := p.prepare(o.files); err != nil {
		return 0, err
	}
	if _, err := tfbridge.Open(nil); err != nil {
		return 0, err
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	built := build(s, p, o)
	m, err := train.NewMonitoredSession(ctx, s, nil)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	for step, err := range m.Steps(ctx, built.batch, nil) {
		if err != nil {
			return batches, built.explain(m, err)
		}
		if err := built.print(out, step); err != nil {
			return batches, err
		}
		batches++
	}
	return batches, m.Close()
}

// print writes a batch as one line of JSON.
func (p *pipeline) print(out io.Writer, step []*tfbridge.Tensor) error {
	columns := make([]output.Column, len(step))
	for i, t := range step {
		c := output.Column{Name: p.names[i], DType: t.DataType(), Shape: t.Shape()}
		var err error
		if c.DType == tfbridge.String {
			c.Strings, err = t.Strings()
		} else {
			c.Data, err = t.Bytes()
		}
		if err != nil {
			return err
		}
		columns[i] = c
	}
	line, err := output.AppendBatch(nil, columns)
	if err != nil {
		return err
	}
	_, err = out.Write(line)
	return err
}

// explain adds the key of the record to an error, if the error is about a record.
func (p *pipeline) explain(m *train.MonitoredSession, err error) error {
	var failed *train.EnqueueError
	if !errors.As(err, &failed) || failed.Operation >= len(p.sources) || len(failed.Runner.EnqueueOps()) != len(p.sources) {
		return err
	}
	key, unknown := p.sources[failed.Operation].lastKey(m.Session())
	if unknown != nil || key == "" {
		return err
	}
	return fmt.Errorf("record %s: %w", key, err)
}
