// Package tfproto holds Go messages for the protobufs that TensorFlow reads and
// writes: graphs, SavedModels, session options, dataset options, examples.
//
// They are made from the descriptors in TensorFlow's own wheel. Their proto
// packages are moved below millrace (tensorflow.GraphDef is
// millrace.tensorflow.GraphDef here), so that a program may register
// tensorflow.* itself. On the wire nothing differs.
package tfproto
