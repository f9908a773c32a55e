// Package tfbridge is a safe Go binding of TensorFlow's C API, and the only
// package here that uses cgo. Names and signatures are those of TensorFlow's
// own Go binding where the two overlap.
//
// # The runtime
//
// libtensorflow is opened at run time, so building needs no TensorFlow. [Open]
// opens it; whatever needs it opens it by itself otherwise. Errors say where
// it was looked for and which command installs it.
//
// # Who owns what
//
// A [Tensor], [Graph], [Function] or [Session] owns C memory, which the
// garbage collector does not see: call Close. A value that was dropped without
// Close is freed by the collector some day, and counted by [Leaked]. [Live]
// counts what is open. An [Operation] or [Output] borrows from its graph and
// keeps it alive.
//
// Close may be called twice, and on nil. After it, methods that return an
// error return one of class millrace.ErrClosed, and the others nothing: "", 0 or
// nil. So it is with nil and with zero values, except that Shape panics on the
// zero Output.
//
// # What may run concurrently
//
// Tensors may be read, and fed to runs, by many goroutines; closing one while
// a run uses it is safe, the memory goes when the run is over. Graphs may be
// read and added to by many goroutines. Sessions may be run by many
// goroutines, and closed at any time.
package tfbridge
