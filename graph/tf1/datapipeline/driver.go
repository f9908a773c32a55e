package datapipeline

import (
	"context"

	"millrace"
	"millrace/tfbridge"
)

// # Runs that never wait
//
// The question. Four goroutines, one per level, would each make runs that wait in the graph
// for data or for room. A run that may wait needs a guard, so that it can be stopped, a
// goroutine that waits for it, and a thread of TensorFlow's. That cost more than the work
// itself: an epoch of 200 sequences took 530 runs, 4,300 thread switches, and twice the
// processor time of batching in Go.
//
// The answer. One goroutine makes the runs of levels 1 to 3, one after the other, and each
// only when the run is certain not to wait. The runs stay in its thread and need no guard:
//
//	sequence of the dataset ── enqueue ── level 1
//	more there than are kept back?     ── cut ───── level 2
//	rows for a batch? room for it?     ── batch ─── level 3
//
// How it knows that:
//
//   - Level 1: it counts the sequences. The queue keeps min_after_dequeue of them uncut
//     until the end of the epoch.
//   - Level 2: if chunks all have one shape and keep their order, Go knows from the frames
//     of a sequence how long its chunks are, and so how many rows the next batch has. It
//     makes the run of a batch when all of them are there (block_queue.go). Otherwise each
//     run returns the number of rows that may be taken after it, and a run that finds too
//     few for a batch leaves the batch open for the next run to fill. The queue is not
//     bounded; it never contains more than a batch and the chunks of one sequence.
//   - Level 3: it counts the batches, and waits in Go while there is no room.
//
// Staging must continue while the dataset is slow, so it has its own goroutine. That
// one also waits in Go.

// driver is the goroutine that makes the runs of levels 1 to 3 in an epoch.
type driver struct {
	p         *QueueDataProvider
	runs      *runs // runs that never wait
	sequences int   // number of sequences in level 1
	err       error // error of a run after level 1

	batch openBatch // the batch under construction, of rows from blocks

	// The batch under construction, of other rows:
	rows    int32 // number of rows that may be taken from level 2, including end tokens
	started []*tfbridge.Tensor
	open    int64 // number of rows in the open batch
}

func (p *QueueDataProvider) newDriver() *driver {
	return &driver{p: p, runs: &p.ready, batch: openBatch{Batching: &p.options.Batching}}
}

// do makes a run without fetches, unless ctx is done.
func (d *driver) do(ctx context.Context, name string, values []*tfbridge.Tensor, spec runSpec) error {
	fetched, err := d.run(ctx, name, values, spec)
	closeAll(fetched)
	return err
}

// run makes a run, unless ctx is done.
func (d *driver) run(ctx context.Context, name string, values []*tfbridge.Tensor, spec runSpec) ([]*tfbridge.Tensor, error) {
	if ctx.Err() != nil {
		return nil, millrace.Canceled(ctx, "make a batch")
	}
	c, err := d.runs.prepare(d.p.session, name, spec)
	if err != nil {
		return nil, err
	}
	return c.Run(d.runs.context(ctx), values)
}

// drive reads an epoch and makes its batches.
func (p *QueueDataProvider) drive(ctx context.Context) (err error) {
	d, chunker := p.driver, p.chunkers.get(p.epoch.Train)
	defer p.batches.finish(&err)
	defer chunker.finish(&err)
	defer func() { closeAll(d.started) }()
	if begin := p.batches.loops.get(p.epoch.Train).begin; begin != nil {
		if err := d.do(ctx, p.mode("begin"), nil, runSpec{targets: []*tfbridge.Operation{begin}}); err != nil {
			return err
		}
	}
	if err := p.reader.Loop(ctx, p.epoch.Number); err != nil {
		if d.err != nil {
			return d.err // may stem from an earlier sequence than the one that the reader names
		}
		return err
	}
	err = d.do(ctx, p.mode("end"), nil, runSpec{targets: []*tfbridge.Operation{p.ends.get(p.epoch.Train)}})
	for ended := false; err == nil && !ended; {
		ended, err = d.cut(ctx)
	}
	return err
}

// move feeds a sequence to level 1, and cuts and batches what can be cut and batched then.
func (p *QueueDataProvider) move(ctx context.Context, e Element) error {
	if err := p.enqueue(ctx, e); err != nil {
		return err
	}
	d := p.driver
	if d.sequences++; d.sequences > p.sequences.get(p.epoch.Train).minAfterDequeue {
		_, d.err = d.cut(ctx)
	}
	return d.err
}

// cut moves a sequence to level 2, or the end of the epoch, and makes the batches for
// which there are rows. It reports whether the epoch has ended.
func (d *driver) cut(ctx context.Context) (ended bool, err error) {
	chunker := d.p.chunkers.get(d.p.epoch.Train)
	fetched, err := d.run(ctx, d.p.mode("cut"), nil, runSpec{
		fetches: []tfbridge.Output{chunker.ended, chunker.ready}, targets: []*tfbridge.Operation{chunker.cut},
	})
	if err != nil {
		return false, err
	}
	defer closeAll(fetched)
	d.sequences--
	if ended, err = scalarOf[bool](fetched[0]); err != nil {
		return false, err
	}
	chunker.moved()
	if chunker.blocks {
		return ended, d.addBlock(ctx, fetched[1], ended)
	}
	return ended, d.addRows(ctx, fetched[1], ended)
}

// addBlock counts the chunks of a sequence with the given number of frames, and makes the
// batches that they complete.
func (d *driver) addBlock(ctx context.Context, frames *tfbridge.Tensor, ended bool) error {
	n, err := scalarOf[int64](frames)
	if err != nil {
		return err
	}
	o := d.p.options.forEpoch(d.p.epoch)
	for length := range o.Chunking.lengths(d.p.externData, int(n)) {
		if !d.batch.fits(length) {
			if err := d.takeBatch(ctx); err != nil {
				return err
			}
		}
		if d.batch.add(length); d.batch.full() {
			if err := d.takeBatch(ctx); err != nil {
				return err
			}
		}
	}
	if !ended || d.batch.rows == 0 {
		return nil
	}
	return d.takeBatch(ctx)
}

// takeBatch makes a batch of the counted rows.
func (d *driver) takeBatch(ctx context.Context) error {
	q := d.p.batches
	if err := d.p.stage.waitForFewer(ctx, q, d.p.options.capacity()); err != nil {
		return err
	}
	rows, err := tfbridge.NewTensor(int64(d.batch.rows))
	if err != nil {
		return err
	}
	defer rows.Close()
	d.batch.clear()
	l := q.loops.get(d.p.epoch.Train)
	spec := runSpec{feeds: []tfbridge.Output{l.taken}, targets: []*tfbridge.Operation{l.made}}
	if err := d.do(ctx, d.p.mode("batch"), []*tfbridge.Tensor{rows}, spec); err != nil {
		return err
	}
	q.madeOne()
	return nil
}

// addRows makes the batches for which there are rows.
func (d *driver) addRows(ctx context.Context, ready *tfbridge.Tensor, ended bool) (err error) {
	if d.rows, err = scalarOf[int32](ready); err != nil {
		return err
	}
	sure := int64(d.p.batches.loops.get(d.p.epoch.Train).sure)
	for d.rows > 0 && (ended || d.open+int64(d.rows) >= sure) {
		if err := d.fill(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill fills the open batch, and begins the next one.
func (d *driver) fill(ctx context.Context) (err error) {
	q := d.p.batches
	if err := d.p.stage.waitForFewer(ctx, q, d.p.options.capacity()); err != nil {
		return err
	}
	l := q.loops.get(d.p.epoch.Train)
	if d.started == nil {
		if d.started, err = q.nothing(); err != nil {
			return err
		}
	}
	n := len(l.next)
	fetched, err := d.run(ctx, d.p.mode("batch"), d.started, runSpec{
		feeds: l.started, fetches: append(append(append([]tfbridge.Output{}, l.next...), l.ready), l.result...), targets: []*tfbridge.Operation{l.made},
	})
	if err != nil {
		return err
	}
	closeAll(d.started)
	d.started = fetched[:n:n]
	defer fetched[n].Close()
	if d.open, err = scalarOf[int64](fetched[0]); err == nil {
		d.rows, err = scalarOf[int32](fetched[n])
	}
	_, failed := q.note(fetched[n+1:])
	if err == nil {
		err = failed
	}
	return err
}

// scalarOf returns the value of a scalar.
func scalarOf[T any](t *tfbridge.Tensor) (scalar T, err error) {
	view, err := tfbridge.View[T](t)
	if err != nil {
		return scalar, err
	}
	return view[0], nil
}
