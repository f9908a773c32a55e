package datapipeline

import (
	"context"
	"maps"
	"slices"
	"sync"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// # Staging without waiting
//
// A staging area keeps tensors on a device, so that the next batch is copied to a GPU while
// the model computes with the current one. But its operations are dangerous: Unstage on an
// empty area, or Stage on a full one, waits and cannot be cancelled. Neither a timeout nor
// closing the session ends it.
//
// So Go counts the batches in the area. Loop stages a batch only while the area has room,
// and take reserves a batch for a run only if one is there that is not reserved. Neither
// kind of run ever waits. (A queue.StagingArea waits in the graph, with a lock made of
// queues. Here one goroutine puts and one takes, so a count suffices, and a step of the
// model has two operations instead of ten.)

// QueueOutput is a source of batches for a model.
type QueueOutput interface {
	// Data returns the tensors of a batch by name.
	Data() map[string]tfbridge.Output
	// HaveData reports whether there is a batch now.
	HaveData() bool
}

// CpuToDefaultDevStage moves batches from the CPU to the device that the model computes
// on, ahead of the model. [NewCpuToDefaultDevStage] makes one.
type CpuToDefaultDevStage struct {
	activity
	externData *ExternData
	names      []string
	data       map[string]tfbridge.Output
	put        []*tfbridge.Operation
	clears     []*tfbridge.Operation
	size       tfbridge.Output
	about      []tfbridge.Output // description of the batch that put moves: rows, last position, frames by key
	runs       runs
	ready      runs // runs that never wait

	lock     sync.Mutex
	capacity int
	staged   []batchInfo // staged batches that no run has reserved
	arrived  int64       // number of batches staged since forget
}

// NewCpuToDefaultDevStage adds a staging area, on the scope's device, for the tensors of a
// batch. The input has the vector of [SeqIdx] and the sizes of the data. The area has room
// for capacity batches.
func NewCpuToDefaultDevStage(s *graph.Scope, externData *ExternData, input map[string]tfbridge.Output, capacity int) *CpuToDefaultDevStage {
	c := &CpuToDefaultDevStage{externData: externData, names: slices.Sorted(maps.Keys(input)), capacity: capacity, ready: runs{ready: true}, data: map[string]tfbridge.Output{}}
	if s.UpdateErr("CpuToDefaultDevStage", externData.check()); s.Err() != nil {
		return c
	}
	s = s.SubScope("stage")
	var words, numbers []string
	for _, name := range c.names {
		if input[name].DataType() == tfbridge.String {
			words = append(words, name)
		} else {
			numbers = append(numbers, name)
		}
	}
	c.area(s, "numbers", numbers, input)
	c.area(s.WithDevice("/cpu:0"), "words", words, input) // only the CPU can store strings
	c.together(s)
	c.describe(s.WithDevice("/cpu:0"), input)
	return c
}

// area adds a staging area for some tensors. Strings and numbers have separate areas.
func (c *CpuToDefaultDevStage) area(s *graph.Scope, name string, names []string, input map[string]tfbridge.Output) {
	if len(names) == 0 {
		return
	}
	var values tfbridge.OutputList
	specs := make([]graph.Spec, len(names))
	for i, name := range names {
		values = append(values, input[name])
		specs[i] = graph.SpecOf(input[name])
	}
	// Operations with one shared name use one area. Without the name each would have its
	// own.
	attrs := map[string]any{"dtypes": graph.DTypes(specs), "shared_name": s.Prefix() + name}
	c.put = append(c.put, s.AddOperation(tfbridge.OpSpec{Type: "Stage", Attrs: attrs, Input: []tfbridge.Input{values}}))
	c.clears = append(c.clears, s.AddOperation(tfbridge.OpSpec{Type: "StageClear", Attrs: attrs}))
	c.size = s.Op1("StageSize", attrs)
	for i, value := range s.Op("Unstage", attrs) {
		if err := s.Graph().SetShape(value, specs[i].Shape); err != nil {
			s.UpdateErr("Unstage", err)
		}
		c.data[names[i]] = value
	}
}

// together adds control dependencies, so that a run that takes from one area also takes
// from the other.
func (c *CpuToDefaultDevStage) together(s *graph.Scope) {
	for _, name := range c.names {
		s = s.WithControlDependencies(c.data[name].Op)
	}
	for _, name := range c.names {
		c.data[name] = graph.Identity(s, c.data[name])
	}
}

// describe adds the operations that describe the staged batch.
func (c *CpuToDefaultDevStage) describe(s *graph.Scope, input map[string]tfbridge.Output) {
	index := input[SeqIdx]
	c.about = []tfbridge.Output{
		graph.Size(s, index),
		graph.Cast(s, graph.Max(s, index, s.Const([]int32{0})), tfbridge.Int64),
	}
	for _, key := range c.externData.timeKeys() {
		sizes := graph.Cast(s, input[Size(key, 0)], tfbridge.Int64)
		c.about = append(c.about, graph.Sum(s, sizes, s.Const([]int32{0})))
	}
}

// Names returns the names of the tensors of a batch, sorted.
func (c *CpuToDefaultDevStage) Names() []string { return slices.Clone(c.names) }

// Data returns the tensors of a batch. Each run that computes with any of them takes a
// whole batch. [QueueDataProvider.FeedDict] reserves a batch for a run.
func (c *CpuToDefaultDevStage) Data() map[string]tfbridge.Output { return maps.Clone(c.data) }

// StagingSize returns the number of batches in the area, including reserved ones.
func (c *CpuToDefaultDevStage) StagingSize(ctx context.Context, session *tfbridge.Session) (int, error) {
	return c.runs.number(ctx, session, "size", c.size)
}

// HaveData reports whether there is a batch that no run has reserved.
func (c *CpuToDefaultDevStage) HaveData() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.staged) > 0
}

// Loop stages the batches of a batching queue until they end or ctx is done.
func (c *CpuToDefaultDevStage) Loop(ctx context.Context, session *tfbridge.Session, from *TFBatchingQueue) error {
	return c.move(ctx, session, &c.runs, func() (bool, error) { return HaveIncomingData(ctx, session, from, from) })
}

// loop is Loop for a queue whose batches all go into this area. So Go can count them
// without a run that fetches their number, and no run waits.
func (c *CpuToDefaultDevStage) loop(ctx context.Context, session *tfbridge.Session, from *TFBatchingQueue) error {
	moved := int64(0)
	return c.move(ctx, session, &c.ready, func() (bool, error) {
		moved++
		return from.haveMade(ctx, moved)
	})
}

// move stages batches while more reports that there is another one.
func (c *CpuToDefaultDevStage) move(ctx context.Context, session *tfbridge.Session, r *runs, more func() (bool, error)) (err error) {
	c.start()
	defer c.finish(&err)
	put, err := r.prepare(session, "put", runSpec{fetches: c.about, targets: c.put})
	if err != nil {
		return err
	}
	for {
		if err := c.waitForRoom(ctx); err != nil {
			return err
		}
		if more, err := more(); err != nil || !more {
			return err
		}
		about, err := put.Run(r.context(ctx), nil)
		if err != nil {
			return err
		}
		info, err := c.info(about)
		closeAll(about)
		if err != nil {
			return err
		}
		c.lock.Lock()
		c.staged = append(c.staged, info)
		c.arrived++
		c.lock.Unlock()
		c.moved()
	}
}

// waitForRoom waits until the area may take a batch.
func (c *CpuToDefaultDevStage) waitForRoom(ctx context.Context) error {
	return c.waitFor(ctx, func() bool { return len(c.staged) < c.capacity })
}

// waitForFewer waits until fewer than n of the queue's batches remain outside of the area.
func (c *CpuToDefaultDevStage) waitForFewer(ctx context.Context, from *TFBatchingQueue, n int) error {
	return c.waitFor(ctx, func() bool { return from.made.Load()-c.arrived < int64(n) })
}

// waitFor waits until a condition holds. It calls holds under the lock.
func (c *CpuToDefaultDevStage) waitFor(ctx context.Context, holds func() bool) error {
	for {
		changed := c.Changed()
		c.lock.Lock()
		done := holds()
		c.lock.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return millrace.Canceled(ctx, "stage a batch")
		}
	}
}

// info decodes the outputs of the operations of describe.
func (c *CpuToDefaultDevStage) info(about []*tfbridge.Tensor) (batchInfo, error) {
	numbers := make([]int64, len(about))
	for i, t := range about {
		n, err := tfbridge.View[int64](t)
		if err != nil {
			return batchInfo{}, err
		}
		numbers[i] = n[0]
	}
	info := batchInfo{rows: numbers[0], lastSeqIdx: numbers[1], frames: map[string]int64{}}
	for i, key := range c.externData.timeKeys() {
		info.frames[key] = numbers[2+i]
	}
	return info, nil
}

// take reserves a batch for a run, if there is one.
func (c *CpuToDefaultDevStage) take() (batchInfo, bool) {
	c.lock.Lock()
	if len(c.staged) == 0 {
		c.lock.Unlock()
		return batchInfo{}, false
	}
	info := c.staged[0]
	c.staged = c.staged[1:]
	c.lock.Unlock()
	c.moved()
	return info, true
}

// forget drops all reservations, after clear.
func (c *CpuToDefaultDevStage) forget() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.staged, c.arrived = nil, 0
}
