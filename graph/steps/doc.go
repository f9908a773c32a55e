// Package steps runs a graph step by step. A step is one TF_SessionRun: an input
// pipeline returns its next batch, the model joined to it computes with the batch, and
// Go gets the fetched tensors as a [Batch].
//
// A [Pipeline] is an input in a graph. Packages that read data make one from an [Input]
// and a [Pass]: package loaders from a config, package estimator from datasets and Go
// values. [Pipeline.Run] is the loop that all of them share:
//
//	for batch, err := range pipeline.Run(ctx, session, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(batch.Rows(), batch.Tensor("image").Shape())
//	}
//
// A run has two goroutines. The producer makes the steps and sends their results; the
// consumer is the caller's loop. The producer is up to [Options.Ahead] steps ahead, or
// waits for a request ([Options.OnDemand]):
//
//	producer   step 1 | step 2 | step 3 |   wait   | step 4
//	                  \        \                   \
//	consumer    wait   | loop body 1    | loop body 2    | loop body 3
//
// A step is never abandoned while TensorFlow may still take a batch for it.
// When the context ends, the loop ends at once, the producer ends after its
// last step, and the next run waits for that.
package steps
