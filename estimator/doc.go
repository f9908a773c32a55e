// Package estimator runs models over the batches of a loader. A SavedModel's
// signature is joined to the input pipeline in one TensorFlow graph, so that a
// step is one session run and a batch goes from disk to the model without
// passing through Go.
package estimator
