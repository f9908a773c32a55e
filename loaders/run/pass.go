package run

import (
	"context"
	"errors"
	"io"

	"millrace/graph/steps"
	"millrace/loaders/engine"
	"millrace/observe"
	"millrace/tfbridge"
)

// pass is one pass over the data of a pipeline. [steps.Pipeline.Run] makes the
// steps and calls the pass with their results.
//
// # A bad record
//
// Records are parsed several at once: several batches of them, or a block that windows
// are cut from. If one record is bad, the whole group fails, and the good batches of
// the group would be lost with it. The size of the group must not decide which batches
// a user gets. So after a failure that a record may have caused, the pass starts the
// iterator again, with the smallest group, and skips the batches that were delivered.
// It delivers the good batches one by one until the failure occurs again; then it is
// final. With sloppy_interleave the order of records may differ in the second reading,
// so there the first failure is final.
//
// tf.data saves a failure that is in a buffer with the state, and a run from there
// would fail even if the data have been repaired. So the pass starts again in that
// case, too.
type pass struct {
	pipe     *Pipeline
	session  *tfbridge.Session
	o        *steps.Options
	init     *tfbridge.Callable
	save     *tfbridge.Callable // saves the iterator's state; nil before the first one
	batches  int64              // number of batches delivered
	rows     int64              // number of rows delivered, and of those at the ends of epochs that are dropped
	read     int64              // examples that filters saw up to the last row; for plans that [engine.CountsRead]
	readFrom int64              // read when the iterator began, whose numbers count from there
	begin    int64              // position at which the pass began, where the plan seeks; rows counts from it
	group    int64              // records parsed at once
	skip     int64              // batches to skip at the start, records where the plan seeks, or the first number where it replays
	empty    bool               // no epoch has an example, so the iterator need not be asked
	restored bool               // from a state of the iterator, which may hold a failure
	number   int64              // number of the next element, where the plan replays: see [source.ReplayPosition]
	held     pending            // nil unless batches carry the positions of their rows
	places   *places            // locations of the rows; nil unless the options ask for them
	end      func()             // ends the reads of remote files
	retrying bool               // the iterator was started again after a failure, with the smallest group
}

// Next returns no values: the iterator is in the graph.
func (p *pass) Next(context.Context) ([]*tfbridge.Tensor, error) {
	if p.empty {
		return nil, io.EOF
	}
	return nil, nil
}

// Taken counts a batch and saves the state if one is due.
func (p *pass) Taken(rows int64) ([]byte, error) {
	p.rows += rows
	p.rows += p.pipe.dropped(p.rows)
	p.batches++
	if p.o.SaveEvery > 0 && p.batches%p.o.SaveEvery == 0 {
		encode, err := p.SaveState(context.Background())
		if err != nil {
			return nil, err
		}
		return encode()
	}
	return nil, nil
}

// TakenAt receives the positions of the rows of a batch, or their numbers where the
// plan replays.
func (p *pass) TakenAt(positions []int64) error {
	p.places.take(positions)
	if engine.CountsRead(p.pipe.Plan.Engine()) {
		p.read = p.readFrom + positions[len(positions)-1] + 1
		p.pipe.filtered.Store(p.read - p.rows - int64(len(positions)))
		return nil
	}
	if p.held == nil {
		p.number = positions[len(positions)-1] + 1
		return nil
	}
	return p.held.take(positions)
}

// Place returns the records of the last rows as text.
func (p *pass) Place(rows int64) string {
	if p.pipe.Place == nil {
		return ""
	}
	return p.pipe.Place(p.rows-rows, rows)
}

// Places returns which records the last rows are.
func (p *pass) Places(rows int64) ([]steps.RecordPlace, error) {
	return p.places.of(p.rows-rows, rows)
}

// Close frees the resources for places. The iterator stays: the next pass starts it
// again.
func (p *pass) Close() {
	p.end()
	p.places.close()
}

// start starts the iterator and skips the first skip batches, or records where the
// plan seeks. group is how many records are parsed at once.
func (p *pass) start(group, skip int64) error {
	feeds, err := scalars(group, skip, p.pipe.prefetched(p.o))
	if err != nil {
		return err
	}
	defer func() { closeAll(feeds) }()
	if p.held != nil {
		for _, positions := range p.held.feeds() {
			t, err := tfbridge.NewTensorFromSlice([]int64{int64(len(positions))}, positions)
			if err != nil {
				return err
			}
			feeds = append(feeds, t)
		}
	}
	p.group, p.skip = group, skip
	if e := p.pipe.Plan.Engine(); e.Seeks() || e.Replays() {
		p.readFrom = p.read
	}
	if _, err := p.init.Run(context.Background(), feeds); err != nil {
		return p.pipe.explain(context.Background(), err)
	}
	return nil
}

// groupSize returns how many records are parsed at once in a run that begins after a
// number of batches. Where elements are several batches, no element extends beyond a
// state that is to be saved, or beyond the run's last step.
func (p *pass) groupSize(begin int64) int64 {
	plan := p.pipe.Plan
	if !plan.Engine().JoinsBatches() {
		return p.pipe.GroupSize
	}
	n := plan.Engine().BatchesAtOnce()
	if p.pipe.prefetched(p.o) > 0 || p.o.Steps > 0 {
		n = 1 // a run that takes single batches may restore tf.data's buffers
	}
	if every := p.o.SaveEvery; every > 0 {
		for every%n != 0 || begin%n != 0 {
			n--
		}
	}
	return n * plan.BatchSize
}

// scalars returns tensors of numbers.
func scalars(values ...int64) (tensors []*tfbridge.Tensor, err error) {
	for _, v := range values {
		t, err := tfbridge.NewTensor(v)
		if err != nil {
			closeAll(tensors)
			return nil, err
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

func closeAll(tensors []*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// Failed decides what the failure of a step means.
func (p *pass) Failed(ctx context.Context, err error) error {
	if errors.Is(err, tfbridge.OutOfRange) {
		if err := p.pipe.verifyEnd(ctx, p.rows); err != nil {
			return err
		}
		if p.pipe.Plan.Filters() && p.o.Observe != nil && p.o.Observe.Filtered != nil {
			p.o.Observe.Filtered(observe.Filtered{Source: p.o.Source, Examples: p.pipe.Filtered()})
		}
		return io.EOF
	}
	once := p.retrying || p.group <= p.pipe.retryGroupSize && !p.restored
	if once || engine.AnyOrder(p.pipe.Plan.Engine()) || !dataFault(err) {
		return p.pipe.explain(ctx, err)
	}
	p.retrying = true
	switch {
	case p.pipe.Plan.Engine().Seeks():
		return p.start(p.pipe.retryGroupSize, p.reached())
	case p.pipe.Plan.Engine().Replays():
		return p.start(p.pipe.retryGroupSize, p.replayNumber())
	}
	return p.start(p.pipe.retryGroupSize, p.batches)
}

// dataFault reports whether a bad record may have caused a failure.
func dataFault(err error) bool {
	return errors.Is(err, tfbridge.InvalidArgument) || errors.Is(err, tfbridge.DataLoss) ||
		errors.Is(err, tfbridge.FailedPrecondition)
}
