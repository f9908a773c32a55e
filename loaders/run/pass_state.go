package run

import (
	"context"

	"millrace/tfbridge"
)

// How long does taking a position delay the loop? TensorFlow collects the state of the
// iterator: every buffer, copied, and encoded as one string. That has to happen between
// two batches. The digest of the string and the header may take as long again, but do
// not need the iterator. So SaveState returns when TensorFlow has made the string, and
// encode does the rest.

// SaveState takes the state after the batches so far.
func (p *pass) SaveState(ctx context.Context) (encode func() ([]byte, error), err error) {
	if p.pipe.Plan.Engine().Seeks() {
		header := p.position()
		var holding []byte
		if p.held != nil {
			holding = p.held.encode()
		}
		return func() ([]byte, error) {
			header.Position.Data = p.pipe.dataDigest()
			return p.pipe.encodeState(header, holding)
		}, nil
	}
	if p.pipe.Plan.Engine().Replays() {
		header := p.replayed()
		return func() ([]byte, error) {
			header.Position.Data = p.pipe.dataDigest()
			return p.pipe.encodeState(header, nil)
		}, nil
	}
	if p.save == nil {
		// Run in the calling thread: TensorFlow's pool would wake threads for two
		// operations.
		call, err := p.session.Prepare(nil, []tfbridge.Output{p.pipe.Iterator.State}, nil)
		if err != nil {
			return nil, err
		}
		p.save = call.Inline()
	}
	taken, err := p.save.Run(ctx, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, stateError(p.pipe.Plan, "save the loader's state: %w", err)
	}
	header := &stateHeader{Batches: p.batches, Rows: p.rows, Read: p.read, Group: p.group, Skip: p.skip, LeftOut: p.leftOut()}
	return func() ([]byte, error) {
		defer taken[0].Close()
		text, err := taken[0].StringAt(0)
		if err != nil {
			return nil, stateError(p.pipe.Plan, "save the loader's state: %w", err)
		}
		return p.pipe.encodeState(header, []byte(text))
	}, nil
}

// prepareSave takes a state and drops it. The first run of anything in a session takes
// tens of milliseconds, in which TensorFlow prepares the graph; this is that run. It
// also shows at once whether the iterator can be saved.
func (p *pass) prepareSave(ctx context.Context) error {
	encode, err := p.SaveState(ctx)
	if err == nil {
		_, err = encode()
	}
	return err
}

// leftOut returns the bad records that have been left out so far.
func (p *pass) leftOut() leftOut {
	if p.pipe.Quarantine == nil {
		return nil
	}
	return encodeLeftOut(p.pipe.Quarantine.Locations())
}

// restoreState sets the iterator to the position of a saved state.
func (p *pass) restoreState(header *stateHeader, state []byte) error {
	if p.pipe.Plan.Engine().Seeks() {
		return p.seek(header, state)
	}
	if p.pipe.Plan.Engine().Replays() {
		return p.replay(header)
	}
	p.read = header.Read
	if !header.fits(p.pipe) {
		p.batches, p.rows = header.Batches, header.Rows
		return p.start(p.pipe.retryGroupSize, header.Batches)
	}
	group := header.Group
	if p.pipe.Plan.Engine().JoinsBatches() {
		group = p.pipe.retryGroupSize
		if header.Skip == 0 {
			group = p.groupSize(header.Batches)
		}
	}
	if err := p.start(group, header.Skip); err != nil {
		return err
	}
	if err := p.pipe.Iterator.RestoreState(context.Background(), p.session, state); err != nil {
		return stateError(p.pipe.Plan, "restore the loader's state: %w", err)
	}
	p.batches, p.rows, p.restored = header.Batches, header.Rows, true
	return nil
}
