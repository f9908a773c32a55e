// Package train has the input pipelines of tf.compat.v1.train, built of queues:
// producers of file names, batches that goroutines fill ahead of their consumer,
// and the [Coordinator] that stops these goroutines together.
//
// New programs read with package dataset, which needs no goroutines and no
// initialization. This package is for graphs that Python built with queues, and for
// programs that are moved from there.
package train
