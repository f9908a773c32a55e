// Package datapipeline reads datasets of sequences, such as the frames of speech,
// cuts them into chunks, and puts these together to batches by a budget of frames. It
// has the classes of RETURNN's TFDataPipeline.
//
// A [Dataset] gives sequences. A [DataProvider] makes batches of them, for the
// training, evaluation and forwarding of a model.
package datapipeline
