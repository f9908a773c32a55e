// Package build adds a plan to a TensorFlow graph, as datasets of tf.data and an iterator
// over them. It walks the plan's stages; operation.go says which operation builds which of
// them. The packages below this one hold these operations: source reads records, examples,
// windows and chunked make batches of them, and parse, process and batch have what these
// share.
package build
