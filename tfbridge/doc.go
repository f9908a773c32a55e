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
// counts what is open, [LiveKinds] by kind, and [ProfileHandles] records where
// it was made. So it is with [SavedModel], [Context], [TensorHandle] and
// [PartialRun]. An [Operation] or [Output] borrows from its graph and
// keeps it alive.
//
// Close may be called twice, and on nil. After it, methods that return an
// error return one of class millrace.ErrClosed, and the others nothing: "", 0 or
// nil. So it is with nil and with zero values, except that Shape panics on the
// zero Output.
//
// A Go function that a graph calls ([Graph.AddCallback]) lasts as long as the
// graph or until it is closed. Its arguments are valid until the call ends, and
// what it returns is closed for it.
//
// # Running, and ending a run
//
// [Session.Run] is one run. [Session.Prepare] makes a [Callable], for runs of
// the same feeds and fetches, and [Session.PrepareRun] one with [RunOptions].
// When the context of a run ends the caller gets an error of class
// millrace.ErrCanceled at once. The run itself goes on in the background, unless
// it was prepared to be interrupted; then TensorFlow stops it. Closing a session
// ends its runs, and the context of the Go functions that they call.
//
// Of eager execution there are tensors on devices: a [Context] and
// [TensorHandle].
//
// # What may run concurrently
//
// Tensors may be read, and fed to runs, by many goroutines; closing one while
// a run uses it is safe, the memory goes when the run is over. Graphs may be
// read and added to by many goroutines. Sessions may be run by many
// goroutines, and closed at any time. So may callables be run, and contexts and
// tensor handles be used; a partial run makes one step at a time, whoever calls.
// Go functions are called by many threads at a time.
package tfbridge
