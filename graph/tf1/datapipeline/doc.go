// Package datapipeline reads datasets of sequences, such as the frames of speech, cuts them
// into chunks, and batches these by a budget of frames. Its types have the names of
// RETURNN's TFDataPipeline.
//
// A [Dataset] yields sequences. A [DataProvider] batches them, in Go
// ([FeedDictDataProvider]) or in the graph ([QueueDataProvider]):
//
//	p, err := datapipeline.NewQueueDataProvider(s, externData, &datapipeline.Options{
//		Chunking: datapipeline.Chunking{Size: 50, Step: 25},
//		Batching: datapipeline.Batching{BatchSize: 5000},
//	})
//	loss := network(s, p.Data())
//
// [QueueSource] and [FeedSource] feed a model of package estimator.
//
// For sequences in files, a loader of type chunked_sequence makes the same batches, and
// can save its position.
package datapipeline
