package datapipeline

import (
	"iter"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Chunking describes how sequences are cut into chunks. The zero value keeps them whole.
//
// Chunk k covers the frames from k * Step to k * Step + Size (exclusive), or to the end of
// the sequence, for every k whose first frame is in the sequence. So the last chunks may be
// short. A sequence without frames has no chunk.
//
// Context adds the sequence's own frames on both sides of a chunk, and zeros only
// beyond the two ends of the sequence. A whole sequence gets zeros on both sides. So
// a convolution without padding over context frames returns a frame for each frame
// of the sequence, in chunks as in whole sequences.
type Chunking struct {
	Size int // frames per chunk; 0: sequences stay whole
	Step int // frames from the start of one chunk to the start of the next; 0: Size
	// Context is the number of frames that each key gets on both sides. A key that is
	// missing gets none.
	Context map[string]Context
}

// Context is a number of frames before and after a chunk.
type Context struct{ Left, Right int }

// maxContext is the largest context.
const maxContext = 1_000_000

// check returns an error if the chunking does not fit the data.
func (c *Chunking) check(e *ExternData) error {
	if c.Size < 0 || c.Step < 0 {
		return millrace.Errorf(millrace.ErrModel, "the chunk size is %d and the step %d; neither may be negative", c.Size, c.Step)
	}
	if c.Size == 0 && c.Step > 0 {
		return millrace.Errorf(millrace.ErrModel, "the chunk step is %d without a chunk size", c.Step)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Context)) {
		d, ok := e.Data[key]
		switch context := c.Context[key]; {
		case !ok:
			return millrace.Errorf(millrace.ErrModel, "the context is for key %q, which is not among the keys %q", key, e.Keys())
		case !d.HasTimeAxis():
			return millrace.Errorf(millrace.ErrModel, "the context is for key %q, which has no time axis", key)
		case min(context.Left, context.Right) < 0 || max(context.Left, context.Right) > maxContext:
			return millrace.Errorf(millrace.ErrModel, "key %q has a context of %d and %d frames; both must be from 0 to %d", key, context.Left, context.Right, maxContext)
		}
	}
	return nil
}

// step returns the frames from the start of one chunk to the start of the next.
func (c *Chunking) step() int {
	if c.Step == 0 {
		return c.Size
	}
	return c.Step
}

// padded returns the components of a queue of chunks padded to one length. If sequences are
// not cut, their lengths vary.
func (c *Chunking) padded(e *ExternData, specs []graph.Spec) []graph.Spec {
	specs = slices.Clone(specs)
	for i, spec := range specs {
		if c.Size > 0 && slices.Contains(e.timeKeys(), spec.Name) {
			specs[i].Shape = tfbridge.MakeShape(append([]int64{int64(c.length(spec.Name))}, spec.Shape.Dims()[1:]...)...)
		}
	}
	return specs
}

// length returns the frames of a full chunk, for a key.
func (c *Chunking) length(key string) int {
	return c.Size + c.Context[key].Left + c.Context[key].Right
}

// lengths yields the number of frames of each chunk of a sequence, including context, for
// the key with the most frames. All keys with a time axis have as many frames as the
// sequence.
func (c *Chunking) lengths(e *ExternData, frames int) iter.Seq[int] {
	longest := 0
	for _, key := range e.timeKeys() {
		longest = max(longest, c.length(key))
	}
	return func(yield func(int) bool) {
		for start := 0; start < frames; start += c.step() {
			if !yield(longest - max(start+c.Size-frames, 0)) {
				return
			}
		}
	}
}

// whole returns the chunking that keeps sequences whole, with the same context.
func (c *Chunking) whole() Chunking { return Chunking{Context: c.Context} }

// checkAligned checks that all keys of a sequence have the same number of frames, if it is
// cut into chunks.
func (c *Chunking) checkAligned(e *ExternData, element Element) error {
	if c.Size == 0 {
		return nil
	}
	key := e.defaultInput()
	want := element[key].Shape()[0]
	for _, other := range e.timeKeys() {
		if got := element[other].Shape()[0]; got != want {
			return millrace.Errorf(millrace.ErrSchema, "key %q has %d frames and key %q has %d; to cut sequences into chunks all must have one length, or be declared Whole", other, got, key, want)
		}
	}
	return nil
}
