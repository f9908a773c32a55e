package engine

import (
	"slices"

	"millrace/dtype"
	"millrace/loaders/scan"
	"millrace/loaders/size"
	"millrace/loaders/spec"
)

// # Several batches a run
//
// What does an empty batch cost? 12 to 15 us: tf.data's prefetch thread hands it to the
// thread of the session's run, and that thread hands it to the caller's goroutine. Both
// wake a sleeping thread, which costs several microseconds of the system's time. Making
// a batch of 32 windows of 100 floats takes 3.
//
// So a run that only reads, without a model, takes another path:
//
//	usual    native operation ── prefetch ── run of the session ── channel ── loop
//	                 tf.data's thread     |       producer's       | caller's
//
//	here     native operation ── run of the session ── channel ── cut ── loop
//	                     producer's                |       caller's
//
//  1. The producer is ahead of the loop by as many batches as the config prefetches, so
//     that tf.data's prefetch stage need not be: it is told to hold nothing (RunPrefetches).
//  2. The native operation makes several small batches in one element, one behind the
//     other, and the loop cuts them without copying (JoinsBatches). An element costs
//     what a batch did.
//
// The batches are the same, and so are their states: an element ends wherever a state
// is to be saved. After a failure that a record may have caused, the data is read once
// more with one batch an element, so that the good batches before it are delivered.

const (
	joinedBytes   = 1 << 20 // bytes of an element; to pass it on then costs little compared with making it
	joinedBatches = 64      // with more batches a loop gains little, and a kept batch keeps all of them in memory
	// mostAhead bounds the steps that a run makes ahead, because their number costs
	// memory, too.
	mostAhead = 1000
)

// JoinsBatches reports whether an element of the dataset may be several batches: where
// one native operation reads files and makes the batches, all rows are numbers of one
// known shape, and only the last batch may be smaller.
func (c Choice) JoinsBatches() bool {
	switch {
	case len(c.BatchedSteps) > 0 || c.WithinEpoch || c.Filters() || !c.RunPrefetches() || c.BatchRows() >= 0 || c.Chunks != nil || c.HasLists() || c.Examples().Padding != nil:
		return false
	case c.Window == nil && !c.JoinFiles().Applied && !batchesInOrder(c), c.Window != nil && !c.EqualWindows():
		return false
	}
	for _, t := range c.Tensors {
		if t.DType == dtype.String || slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 1 }) {
			return false
		}
	}
	return true
}

// BatchesAtOnce returns how many batches a run that only reads takes in one element. It is 1 for
// files in stores: the first batch must not wait for the download of others, whose records may be
// much larger than their rows.
func (c Choice) BatchesAtOnce() int64 {
	if !c.JoinsBatches() || c.HasURLs() {
		return 1
	}
	return min(max(joinedBytes/max(size.Multiply(size.Example(c.Spec), c.BatchSize), 1), 1), joinedBatches)
}

// RunPrefetches reports whether a run that only reads makes its batches ahead by itself,
// and leaves nothing to tf.data's prefetch stage: where a native operation reads the
// files and has threads of its own, or makes several batches at once.
func (c Choice) RunPrefetches() bool {
	if c.Service != nil || c.Filters() || c.Prefetch < 1 || c.Prefetch > mostAhead || c.Timed || (c.Shuffle != nil || c.Records != nil) && !batchesInOrder(c) || c.ChecksRecords() || !c.Native().Applied {
		return false
	}
	return c.Chunks == nil || c.CutsFiles()
}

// batchesInOrder reports whether one native operation makes batches of records or windows in a
// computed order.
func batchesInOrder(c Choice) bool {
	return c.ComputesOrder() && c.Native().Applied && c.Chunks == nil && c.Bucket == nil && !c.HasLists()
}

// A batch costs tf.data a fixed time (waking threads, calling functions), whatever is
// in it. So records are parsed several batches at a time and then cut into batches,
// which copies nothing. docs/performance.md has the measurements; more than eight
// batches gain nothing.
const (
	mostBatches  = 8
	mostFiltered = 32      // the same where filters keep few rows, and each group costs some operations
	groupBytes   = 1 << 20 // bytes of serialized records or of their tensors, so that there are few large ones
)

// GroupSize returns how many records are parsed at once: whole batches.
func (c Choice) GroupSize(found *scan.Scan) int64 {
	if c.JoinsBatches() {
		return c.BatchSize // a run decides on more: see BatchesAtOnce
	}
	if c.Chunks != nil && c.StepsSingly() {
		return 1
	}
	if c.Window != nil || c.Chunks != nil {
		return blockRecords(found)
	}
	if !c.decide(groupBatches).Applied && !c.Filters() {
		return c.BatchSize
	}
	records, _ := found.Records()
	average := max(found.Bytes()/max(records, 1), size.Example(c.Spec), 1)
	batches := groupBytes / average / c.BatchSize
	most := int64(mostBatches)
	if c.Filters() {
		most = mostFiltered
	}
	return c.BatchSize * min(max(batches, 1), most)
}

// RetryGroupSize returns how many records are parsed at once after a failure, so that
// the batches before the bad record can be delivered. It is the smallest size that
// gives the same batches.
func (c Choice) RetryGroupSize() int64 {
	if c.JoinsBatches() {
		return c.BatchSize
	}
	if c.Window != nil || c.Chunks != nil || c.Filters() {
		return 1
	}
	return c.BatchSize
}

// blockLimit bounds how many records are parsed at once; groupBytes does as
// well.
const (
	blockLimit       = 1024
	remoteBlockLimit = 8 // limit for blocks of unknown size
)

// blockRecords returns the number of records in a block of a file. TensorFlow parses
// the lists of a block to a tensor that is padded to the longest list, so the size
// depends on the largest record.
func blockRecords(found *scan.Scan) int64 {
	largest := found.Largest()
	if largest < 0 {
		return remoteBlockLimit
	}
	return min(max(groupBytes/max(largest, 1), 1), blockLimit)
}

// WindowsAtOnce returns how many overlapping windows are copied at once.
func (c Choice) WindowsAtOnce() int64 {
	position := int64(1)
	for _, f := range c.Features {
		n, _ := spec.ByteSize(f.DType, 1, f.TensorShape()[1:])
		position += n
	}
	return max(groupBytes/position/c.Window.Max, 1)
}

// handedOver is the size in bytes from which on tf.data gains by reading several files
// at the same time: reading a smaller element takes less than the 10 us and more that
// threads take to hand it over.
const handedOver = 16 << 10

// manyBuffered is how many short elements of each file tf.data buffers where threads
// hand them over, so that they wake each other less often.
const manyBuffered = 64

// ParallelFiles returns how many of the files that are mixed tf.data reads at the same
// time, 0 if one thread reads them in turns, and how many elements of each it buffers. The
// order of the records is the same, unless sloppy_interleave gives it up.
func (c Choice) ParallelFiles(found *scan.Scan) (files, buffered int64) {
	records, known := found.Records()
	element := found.Bytes() / max(records, 1)
	if c.Window != nil {
		element = size.Example(c.Spec)
	}
	short := c.Own && known && element < handedOver
	switch {
	case !AnyOrder(c) && (c.ParallelReads == 1 || short):
		return 0, 0
	case short:
		return c.ParallelReads, max(c.InterleaveOut, manyBuffered)
	}
	return c.ParallelReads, c.InterleaveOut
}
