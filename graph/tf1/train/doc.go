// Package train has the input pipelines of tf.compat.v1.train, built of queues: producers
// of file names, batches that goroutines prefetch for their consumer, and the [Coordinator]
// that stops these goroutines together.
//
//	files := train.StringInputProducer(s, s.Const(paths), &train.ProducerOptions{NumEpochs: 1})
//	_, line := reader.NewTextLine(s, nil).Read(s, files)
//	batch := train.Batch(s, train.Tensors{Dense: []tfbridge.Output{line}}, 32, nil)
//	m, err := train.NewMonitoredSession(ctx, s, nil)
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	for step, err := range m.Steps(ctx, batch.Dense, nil) {
//		...
//	}
//	return m.Close()
//
// New programs read with package dataset, which needs no goroutines and no
// initialization. This package is for graphs that Python built with queues, and for
// programs that are moved from there. docs/reading.md has the names of both.
//
// The functions add operations to a graph; the scope's first failure sticks, as in
// package graph. Only one goroutine at a time may build.
package train
