// Package reader has TensorFlow's readers: they take file names from a queue and
// return the records of the files, one or several at a time.
//
//	files := queue.NewFIFO(s, 32, []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}, nil)
//	r := reader.NewTFRecord(s, nil)
//	key, value := r.Read(s, files)
//
// A read opens the next file when it has finished one, and waits while the queue of
// names is empty. When the queue is closed and empty, it fails with code OutOfRange,
// which means the end of the data.
//
// The methods add operations to a graph, as those of package queue do. A reader
// lives in a session and ends with it. Operations of one reader may run
// concurrently and take turns: each waits until the one before it is done.
package reader
