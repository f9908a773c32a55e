package datapipeline

import (
	"context"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// TFChunkingQueueRunner cuts sequences into chunks in the graph: one run takes a
// sequence from a source and puts its chunks into a queue. No frame passes through
// Go. [NewTFChunkingQueueRunner] makes one.
type TFChunkingQueueRunner struct {
	activity
	cut    *tfbridge.Operation // cuts one sequence
	blocks bool                // the target queue is one of blocks
	ended  tfbridge.Output     // the source's EpochEnd, which the run fetches
	ready  tfbridge.Output     // for a driven target queue: its tokens after the run, or the frames of the sequence whose block the run put
	runs   runs
}

// TFChunkingQueueRunnerOptions configure the cutting of sequences and the queue of the
// chunks.
type TFChunkingQueueRunnerOptions struct {
	Chunking
	// TargetQueue takes the chunks. If all its chunks have one length (see
	// [TFDataQueuesOptions]), short chunks are padded with zeros. Their sizes exclude the
	// padding.
	TargetQueue *DataQueue
}

// NewTFChunkingQueueRunner adds the operations that cut sequences. makeDequeueOp adds
// an operation that returns the next sequence, by the keys of the target queue. It may
// also return [EpochEnd]: an element whose EpochEnd is true marks the end of the epoch
// and is passed to the target queue.
//
// A sequence whose keys with a time axis differ in length makes the run fail, unless
// sequences stay whole.
func NewTFChunkingQueueRunner(s *graph.Scope, externData *ExternData, makeDequeueOp func(s *graph.Scope) map[string]tfbridge.Output, o *TFChunkingQueueRunnerOptions) *TFChunkingQueueRunner {
	r := &TFChunkingQueueRunner{}
	if s.UpdateErr("TFChunkingQueueRunner", o.checkAll(externData, makeDequeueOp)); s.Err() != nil {
		return r
	}
	s = s.SubScope("chunking").WithDevice("/cpu:0")
	sequence := makeDequeueOp(s)
	c := &cutter{externData, o.Chunking, o.TargetQueue, sequence, lengths(s, externData, sequence), o.pads(externData)}
	end, ok := sequence[EpochEnd]
	if !ok {
		end = s.Const(false)
	}
	r.ended = graph.Identity(s, end)
	if o.Size > 0 {
		s = c.aligned(s)
	}
	r.cut = effect(s, end, func(s *graph.Scope) *tfbridge.Operation { return o.TargetQueue.end(s) }, c.chunks)
	switch {
	case s.Err() != nil:
	case o.TargetQueue.blocks != nil:
		r.blocks = true
		r.ready = graph.Identity(s, c.frames[externData.defaultInput()])
	case o.TargetQueue.driven:
		r.ready = o.TargetQueue.ready(s.WithControlDependencies(r.cut))
	}
	return r
}

// checkAll returns what is wrong with the arguments of NewTFChunkingQueueRunner.
func (o *TFChunkingQueueRunnerOptions) checkAll(e *ExternData, makeDequeueOp func(s *graph.Scope) map[string]tfbridge.Output) error {
	if o == nil || o.TargetQueue == nil || makeDequeueOp == nil {
		return millrace.Errorf(millrace.ErrModel, "the target queue, or the function that adds a dequeue, is nil")
	}
	if err := e.check(); err != nil {
		return err
	}
	if err := o.Chunking.check(e); err != nil {
		return err
	}
	return o.checkTarget(e)
}

// checkTarget returns an error if the components of the target queue do not fit.
func (o *TFChunkingQueueRunnerOptions) checkTarget(e *ExternData) error {
	for _, key := range e.timeKeys() {
		i := slices.IndexFunc(o.TargetQueue.specs, func(spec graph.Spec) bool { return spec.Name == key })
		if i < 0 {
			return millrace.Errorf(millrace.ErrModel, "the target queue has no component %q", key)
		}
		shape := o.TargetQueue.specs[i].Shape
		if want := int64(o.length(key)); shape.Size(0) >= 0 && (o.Size == 0 || shape.Size(0) != want) {
			return millrace.Errorf(millrace.ErrModel, "component %q of the target queue has shape %v, which is not that of chunks of %d frames with a context of %d and %d; give TFDataQueues the same Chunking", key, shape, o.Size, o.Context[key].Left, o.Context[key].Right)
		}
	}
	return nil
}

// pads reports whether short chunks are padded.
func (o *TFChunkingQueueRunnerOptions) pads(e *ExternData) bool {
	return !slices.ContainsFunc(o.TargetQueue.specs, func(spec graph.Spec) bool {
		return slices.Contains(e.timeKeys(), spec.Name) && spec.Shape.Size(0) < 0
	})
}

// Loop cuts sequences until the epoch ends or ctx is done. A source without EpochEnd never
// ends.
func (r *TFChunkingQueueRunner) Loop(ctx context.Context, session *tfbridge.Session) (err error) {
	r.start()
	defer r.finish(&err)
	spec := runSpec{fetches: []tfbridge.Output{r.ended}, targets: []*tfbridge.Operation{r.cut}}
	for {
		ended, err := r.runs.test(ctx, session, "cut", nil, spec)
		if err != nil || ended {
			return err
		}
		r.moved()
	}
}

// cutter adds the operations that cut one sequence.
type cutter struct {
	externData *ExternData
	chunking   Chunking
	target     *DataQueue
	sequence   map[string]tfbridge.Output
	frames     map[string]tfbridge.Output // frames of the keys with a time axis
	pads       bool                       // whether short chunks are padded to the length of the others
}

// lengths adds operations that count the frames of the keys with a time axis, as
// int64.
func lengths(s *graph.Scope, e *ExternData, sequence map[string]tfbridge.Output) map[string]tfbridge.Output {
	frames := map[string]tfbridge.Output{}
	for _, key := range e.timeKeys() {
		frames[key] = graph.Subscript(s, graph.Shape(s, sequence[key]), graph.At(0))
	}
	return frames
}

// chunks adds the operations that enqueue the chunks of the sequence.
func (c *cutter) chunks(s *graph.Scope) *tfbridge.Operation {
	if c.chunking.Size == 0 {
		return c.target.put(s, c.row(s, s.Const(int64(0))))
	}
	frames := c.frames[c.externData.defaultInput()]
	size, step, zero := s.Const(int64(c.chunking.Size)), s.Const(int64(c.chunking.step())), s.Const(int64(0))
	if c.pads {
		last := s.Const(int64(c.chunking.step() - 1))
		n := graph.FloorDiv(s, graph.Add(s, frames, last), step)
		return c.target.putMany(s, n, c.rows(s, n))
	}
	// frames - size + step may be negative, and FloorDiv rounds down.
	full := graph.Maximum(s, graph.FloorDiv(s, graph.Add(s, graph.Sub(s, frames, size), step), step), zero)
	s = s.WithControlDependencies(c.target.putMany(s, full, c.rows(s, full)))
	return c.shortChunks(s, graph.Mul(s, full, step))
}

// shortChunks adds a loop that enqueues the chunks that start at frame start or later, one
// by one.
func (c *cutter) shortChunks(s *graph.Scope, start tfbridge.Output) *tfbridge.Operation {
	frames := c.frames[c.externData.defaultInput()]
	// The loop's condition and body are functions.
	starts := graph.While(s, []tfbridge.Output{start},
		func(s *graph.Scope, start []tfbridge.Output) tfbridge.Output { return graph.Less(s, start[0], frames) },
		func(s *graph.Scope, start []tfbridge.Output) []tfbridge.Output {
			s = s.WithControlDependencies(c.target.put(s, c.row(s, start[0])))
			return []tfbridge.Output{graph.Add(s, start[0], s.Const(int64(c.chunking.step())))}
		}, &graph.WhileOptions{ParallelIterations: 1})
	if s.Err() != nil {
		return nil
	}
	return graph.NoOp(s, starts[0].Op)
}

// aligned returns a scope whose operations run only if all keys with a time axis have the
// same length.
func (c *cutter) aligned(s *graph.Scope) *graph.Scope {
	frames := c.frames[c.externData.defaultInput()]
	for _, key := range c.externData.timeKeys() {
		n := c.frames[key]
		data := []tfbridge.Output{
			s.Const("the keys " + c.externData.defaultInput() + " and " + key + " of a sequence to cut have lengths"), frames, n,
		}
		if tag, ok := c.sequence[SeqTag]; ok {
			data = append(data, s.Const(SeqTag), tag)
		}
		s = s.WithControlDependencies(graph.Assert(s, graph.Equal(s, n, frames), data, nil))
	}
	return s
}

// row adds the operations that compute the chunk at frame start, or the whole sequence, as
// values for the target queue.
func (c *cutter) row(s *graph.Scope, start tfbridge.Output) []tfbridge.Output {
	values := map[string]tfbridge.Output{}
	for name, value := range c.sequence {
		values[name] = value
	}
	for _, key := range c.externData.timeKeys() {
		values[key], values[Size(key, 0)] = c.window(s, key, start)
	}
	list := make([]tfbridge.Output, len(c.target.specs))
	for i, spec := range c.target.specs {
		list[i] = values[spec.Name]
	}
	return list
}

// rows adds the operations that compute the first n chunks, stacked, as values for the
// target queue. All have one length: short chunks are padded.
func (c *cutter) rows(s *graph.Scope, n tfbridge.Output) []tfbridge.Output {
	zero, one := s.Const(int64(0)), s.Const(int64(1))
	count := graph.ExpandDims(s, n, 0)
	first := graph.Mul(s, graph.Range(s, zero, n, one), s.Const(int64(c.chunking.step())))
	end := graph.Add(s, graph.Mul(s, graph.Sub(s, n, one), s.Const(int64(c.chunking.step()))), s.Const(int64(c.chunking.Size)))
	values := map[string]tfbridge.Output{}
	for _, key := range c.externData.timeKeys() {
		context, length := c.chunking.Context[key], int64(c.chunking.length(key))
		frames := graph.Add(s, graph.ExpandDims(s, first, 1), graph.Range(s, zero, s.Const(length), one))
		behind := graph.Maximum(s, graph.Sub(s, end, c.frames[key]), zero)
		around := [2]tfbridge.Output{s.Const(int64(context.Left)), graph.Add(s, behind, s.Const(int64(context.Right)))}
		values[key] = graph.GatherV2(s, c.padded(s, key, c.sequence[key], around), frames, 0)
		left := graph.Sub(s, graph.Add(s, c.frames[key], s.Const(int64(context.Left+context.Right))), first)
		values[Size(key, 0)] = graph.Cast(s, graph.Minimum(s, left, s.Const(length)), tfbridge.Int32)
	}
	same := graph.Fill(s, count, zero) // indices that repeat a value
	list := make([]tfbridge.Output, len(c.target.specs))
	for i, spec := range c.target.specs {
		if v, ok := values[spec.Name]; ok {
			list[i] = v
			continue
		}
		list[i] = graph.GatherV2(s, graph.ExpandDims(s, c.sequence[spec.Name], 0), same, 0)
	}
	return list
}

// padded adds zeros before and after the frames of a key.
func (c *cutter) padded(s *graph.Scope, key string, x tfbridge.Output, around [2]tfbridge.Output) tfbridge.Output {
	if c.chunking.Context[key] == (Context{}) && !c.pads {
		return x
	}
	d := c.externData.Data[key]
	paddings := graph.ExpandDims(s, graph.Pack(s, around[:], 0), 0)
	if rest := d.Shape.NumDimensions() - 1; rest > 0 {
		paddings = graph.ConcatV2(s, []tfbridge.Output{paddings, s.Zeros(tfbridge.Int64, int64(rest), 2)}, 0)
	}
	return graph.PadV2(s, x, paddings, s.Zeros(d.DType))
}

// window adds the operations that take the frames of a chunk, with context, from a key. It
// also returns the number of frames.
//
//	        0                          frames
//	        |                          |
//	begin   |  first          last     |   end        begin < 0 or end > frames:
//	[ zeros | the sequence's frames    | zeros ]      zeros beyond the ends
func (c *cutter) window(s *graph.Scope, key string, start tfbridge.Output) (window, size tfbridge.Output) {
	x, frames := c.sequence[key], c.frames[key]
	stop, context := frames, c.chunking.Context[key]
	if c.chunking.Size > 0 {
		stop = graph.Minimum(s, graph.Add(s, start, s.Const(int64(c.chunking.Size))), frames)
	}
	zero := s.Const(int64(0))
	begin, end := graph.Sub(s, start, s.Const(int64(context.Left))), graph.Add(s, stop, s.Const(int64(context.Right)))
	first, last := graph.Maximum(s, begin, zero), graph.Minimum(s, end, frames)
	around := [2]tfbridge.Output{graph.Sub(s, first, begin), graph.Sub(s, end, last)}
	return c.padded(s, key, graph.Rows(s, x, first, last), around), graph.Cast(s, graph.Sub(s, end, begin), tfbridge.Int32)
}
