package run

import (
	"context"
	"errors"
	"io"

	"millrace/tfbridge"
)

// pass is one pass over the data of a pipeline. [steps.Pipeline.Run] makes the
// steps and tells the pass what came of them.
//
// # A bad record
//
// Records are parsed several at once: several batches of them, or a block that
// windows are cut from. If one record is bad, the whole group fails, and the
// good batches of the group would be lost with it. Which batches a user gets
// must not depend on such a group. So after a failure that may be a record's,
// the pass starts the iterator once more, with the smallest group, and skips the
// batches that were delivered. The good batches come, one by one, and then the
// failure again. That failure is final. Where files overtake one another
// (sloppy_interleave) the second reading may come in another order, so the first
// failure is final there.
type pass struct {
	pipe      *Pipeline
	session   *tfbridge.Session
	saveEvery int64 // batches from one saved state to the next; 0: none
	init      *tfbridge.Callable
	batches   int64 // delivered
	rows      int64 // delivered
	group     int64 // records parsed at once
	skip      int64 // batches left out at the start
	retrying  bool  // after a failure: as few records as can be are parsed at once
}

// Next returns no values: the iterator is in the graph.
func (p *pass) Next(context.Context) ([]*tfbridge.Tensor, error) { return nil, nil }

// Taken counts a batch and saves the state where it is asked for.
func (p *pass) Taken(rows int64) ([]byte, error) {
	p.rows += rows
	p.batches++
	if p.saveEvery > 0 && p.batches%p.saveEvery == 0 {
		return p.saveState()
	}
	return nil, nil
}

// Close does nothing: the next pass starts the iterator anew.
func (p *pass) Close() {}

// start puts the iterator at a batch of the data. group is how many records
// are parsed at once.
func (p *pass) start(group, skip int64) error {
	feeds, err := scalars(group, skip)
	if err != nil {
		return err
	}
	defer feeds[0].Close()
	defer feeds[1].Close()
	p.group, p.skip = group, skip
	if _, err := p.init.Run(context.Background(), feeds); err != nil {
		return p.pipe.explain(context.Background(), err)
	}
	return nil
}

func scalars(a, b int64) ([]*tfbridge.Tensor, error) {
	x, err := tfbridge.NewTensor(a)
	if err != nil {
		return nil, err
	}
	y, err := tfbridge.NewTensor(b)
	if err != nil {
		x.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{x, y}, nil
}

// Failed decides what the failure of a step means.
func (p *pass) Failed(ctx context.Context, err error) error {
	if errors.Is(err, tfbridge.OutOfRange) {
		if err := p.pipe.verifyEnd(ctx, p.rows); err != nil {
			return err
		}
		return io.EOF
	}
	if p.retrying || p.pipe.GroupSize <= p.pipe.retryGroupSize || p.pipe.Plan.Sloppy || !dataFault(err) {
		return p.pipe.explain(ctx, err)
	}
	p.retrying = true
	return p.start(p.pipe.retryGroupSize, p.batches)
}

// dataFault reports whether a failure may be that of a record.
func dataFault(err error) bool {
	return errors.Is(err, tfbridge.InvalidArgument) || errors.Is(err, tfbridge.DataLoss) ||
		errors.Is(err, tfbridge.FailedPrecondition)
}

// saveState returns the state after the batches so far.
func (p *pass) saveState() ([]byte, error) {
	state, err := p.pipe.Iterator.SaveState(context.Background(), p.session)
	if err != nil {
		return nil, stateError(p.pipe.Plan, "save the loader's state: %w", err)
	}
	return encodeState(p.pipe.Plan, &stateHeader{Batches: p.batches, Rows: p.rows, Group: p.group, Skip: p.skip}, state)
}

// restoreState puts the iterator where a state was saved.
func (p *pass) restoreState(saved []byte) error {
	header, state, err := decodeState(p.pipe.Plan, saved)
	if err != nil {
		return err
	}
	if err := p.start(header.Group, header.Skip); err != nil {
		return err
	}
	if err := p.pipe.Iterator.RestoreState(context.Background(), p.session, state); err != nil {
		return stateError(p.pipe.Plan, "restore the loader's state: %w", err)
	}
	p.batches, p.rows = header.Batches, header.Rows
	return nil
}
