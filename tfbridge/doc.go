//go:build cgo

// Package tfbridge is a safe Go binding of TensorFlow's C API, and the only package
// here that uses cgo. Names and signatures equal those of TensorFlow's own Go binding
// where the two overlap.
//
// # The runtime
//
// libtensorflow is opened at run time, so building needs no TensorFlow. [Open] opens
// it; otherwise the first call that needs it does. The error of a missing library lists
// the directories that were searched, and the command that installs it.
//
// # Who owns what
//
// A [Tensor], [Graph], [Function], [Session], [SavedModel], [Context], [TensorHandle]
// or [PartialRun] owns C memory, which the garbage collector does not see: call Close.
// The collector frees a value that is unreachable and was not closed, at some later
// time; [Leaked] counts those. This package starts a collection when the memory of
// tensors exceeds 256 MiB and has doubled since the last one; [LiveBytes] returns the
// amount. [Live] counts open objects, [LiveKinds] counts them by kind, and
// [ProfileHandles] records where they were made. An [Operation] or [Output] borrows
// from its graph and keeps it alive.
//
// Close may be called twice, and on nil. After Close, methods that return an
// error return one of class millrace.ErrClosed; other methods return "", 0 or
// nil. The same holds for nil and for zero values, except that Shape panics on
// the zero Output.
//
// A Go function that a graph calls ([Graph.AddCallback]) is valid until it or the
// graph is closed. Its arguments are valid until the call ends. The caller
// closes its results.
//
// # Running, and cancelling a run
//
// [Session.Run] makes one run. [Session.Prepare] returns a [Callable] for many runs of
// the same feeds and fetches, and [Session.PrepareRun] one with [RunOptions]. When the
// context of a run is done, the caller gets an error of class millrace.ErrCanceled at
// once. The run continues in the background, unless it was prepared with
// RunOptions.Interrupt; then TensorFlow stops it. Closing a session cancels its runs,
// and the contexts of the Go functions that they call. Some operations of TensorFlow
// ignore this: see [Session.Close].
//
// The package supports one part of eager execution, tensors on devices: [Context] and
// [TensorHandle].
//
// # What may run concurrently
//
// Many goroutines may read a tensor and feed it to runs. Closing a tensor while
// a run uses it is safe: its memory is freed when the run ends. Many goroutines
// may read a graph and add to it, use a session, callable, context or tensor
// handle, and close any of them at any time. A partial run makes one step at a
// time. TensorFlow calls Go functions from many threads at once.
package tfbridge
