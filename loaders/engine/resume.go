package engine

import (
	"slices"

	"millrace/loaders/size"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// Seeks reports whether a run can begin at any position without reading the records
// before it. Its state is the position alone, and with buckets the positions of the
// records that they hold: see [Choice.HoldsPositions].
func (c Choice) Seeks() bool {
	switch {
	case c.Chunks != nil, c.Special != nil:
		return false
	case c.Bucket != nil:
		return c.HoldsPositions()
	}
	return c.Records != nil || seeksInBuffers(c)
}

// AnyOrder reports whether the speed of the files decides the order of the records. The config allows
// that by sloppy_interleave, and it happens where tf.data mixes the files. Where a native operation
// computes the order, waiting for a file costs nothing that another order would save.
func AnyOrder(c Choice) bool {
	if !c.Sloppy || !c.Own {
		return c.Sloppy
	}
	inOrder := *c.Spec
	inOrder.Sloppy = false
	c.Spec = &inOrder
	return !c.ComputesBuffers()
}

// HoldsPositions reports whether the records that buckets hold have positions by which
// they can be read again.
func (c Choice) HoldsPositions() bool {
	if c.Bucket == nil || c.Window != nil || c.Special != nil || AnyOrder(c) || c.BadRecords != nil || c.Filters() {
		return false
	}
	return c.Records != nil || c.Manifest.Compression == tfrecord.None && !c.HasRemoteFiles()
}

// seeksInBuffers reports whether the examples of a plan that shuffles in buffers have
// numbers by which they can be read. Then the numbers before a position are shuffled
// again, and not the examples.
func seeksInBuffers(c Choice) bool {
	if c.Shuffle == nil || AnyOrder(c) || c.BadRecords != nil || c.Manifest.Compression != tfrecord.None || c.HasRemoteFiles() {
		return false
	}
	if c.Window == nil {
		return true
	}
	isList := func(f *spec.Feature) bool { return f.VarLen }
	return c.Window.Min == c.Window.Max && (c.Window.Unit == spec.Records || !slices.ContainsFunc(c.Features, isList))
}

// Replays reports whether a run that is resumed from a state reads the state's epoch
// from its start, and skips the elements that were delivered. That is so where the
// state would otherwise hold buffers, and elements have no numbers by which they could
// be read. The state is the epoch, and how many of its elements were delivered: batches
// of chunks, windows, or records.
func (c Choice) Replays() bool {
	if c.Special != nil {
		return false
	}
	if c.Chunks != nil {
		return c.Chunks.ShuffleChunks > 1 || !c.CutsFiles()
	}
	if c.Shuffle == nil || c.Bucket != nil || AnyOrder(c) || c.Seeks() {
		return false
	}
	return c.Window != nil || !c.HasRemoteFiles()
}

// NumbersElements reports whether the elements of a plan that [Choice.Replays] carry
// their numbers. Records do not: each epoch has as many good records as all files
// together, and the scan has counted them. So the number of delivered rows gives the
// epoch.
func (c Choice) NumbersElements() bool { return c.Replays() && (c.Chunks != nil || c.Window != nil) }

// CountsRead reports whether the rows of a plan with a filter carry their numbers among the
// examples that the filter sees. So a run knows where it is, and how many are filtered.
func CountsRead(c Choice) bool {
	return c.Filters() && c.Bucket == nil && c.Special == nil && !AnyOrder(c) && !c.NumbersElements()
}

// ComputesBuffers reports whether the native operation computes the order in which
// shuffle buffers give the records, or windows of one size, and reads these by their positions.
func (c Choice) ComputesBuffers() bool {
	switch {
	case c.Shuffle == nil || c.Bucket != nil || !c.Seeks():
		return false
	case c.Window != nil:
		return c.Native().Applied && c.EqualWindows() && c.Shuffle.Elements <= mostMixed/max(size.Example(c.Spec), 1)
	}
	return c.ReadsNatively() || c.ChecksNatively()
}

// mostMixed is the size in bytes of the windows in a buffer up to which the native operation reads
// windows by their positions. The records that they are cut from stay decoded in memory meanwhile. With
// more of them records would be read again for each of their windows.
const mostMixed = 64 << 20

// ComputesOrder reports whether the order of the records is computed before any of them
// is read.
func (c Choice) ComputesOrder() bool { return c.Records != nil || c.ComputesBuffers() }
