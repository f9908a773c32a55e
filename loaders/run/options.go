package run

import "millrace/loaders/build"

// Options says what a run over a pipeline fetches. Nil and the zero value
// fetch the pipeline's own tensors from the start of the data.
type Options struct {
	Fetch []build.NamedOutput // nil: Pipeline.Tensors
	Ahead int                 // batches computed before they are asked for; default and at least 1

	SaveEvery int64  // every so many batches [Batch.State] tells where they end; 0: never
	State     []byte // where to go on, a [Batch.State] of an earlier run; nil: the start
}
