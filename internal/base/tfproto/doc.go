// Package tfproto holds Go messages for the protobufs that TensorFlow reads and
// writes: graphs, SavedModels, session options, dataset options, examples.
//
// They are generated from the descriptors in TensorFlow's wheel. Their proto packages
// are moved below millrace (tensorflow.GraphDef is millrace.tensorflow.GraphDef here),
// so that a program may register tensorflow.* itself. The wire format is the same.
package tfproto
