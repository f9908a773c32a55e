package run

import (
	"math"

	"millrace/loaders/build/source"
	"millrace/loaders/engine"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
)

// Where a run can begin at any record, its state is a position in the order of the
// records, without TensorFlow's own state. The state is small whatever the buffers are,
// and fits a pipeline with other buffers, other threads or the other engine. At the end
// of an epoch it also fits another part of the data, because the position then is the
// same for all parts.

// The same holds where records are shuffled in buffers, as long as they have numbers:
// see loaders/build/source/resume.go. But then TensorFlow's version must be the same,
// because TensorFlow draws that order.

// position returns the state after the batches so far.
func (p *pass) position() *stateHeader {
	plan := p.pipe.Plan
	at := &position{}
	at.Shard, at.Shards = shardOf(plan)
	if size := p.pipe.epochExamples; size > 0 {
		at.Epoch, at.Record = p.reached()/size, p.reached()%size
	}
	return &stateHeader{Batches: p.batches, Rows: p.rows, Read: p.read, Group: p.group, Position: at, LeftOut: p.leftOut()}
}

// reached returns the position in the order after the batches so far. It is larger than
// the number of their rows if records were left out.
func (p *pass) reached() int64 {
	if p.held != nil {
		return p.held.reached()
	}
	return p.pipe.Passed.Behind(p.begin, p.seen()-p.begin)
}

// seen returns the number of examples behind the batches so far: their rows and those that
// filters did not keep.
func (p *pass) seen() int64 {
	if engine.CountsRead(p.pipe.Plan.Engine()) {
		return p.read
	}
	return p.rows
}

// seek starts the iterator at a saved position. holding is the result of [held.encode]
// for the records that buckets hold there.
func (p *pass) seek(header *stateHeader, holding []byte) error {
	plan := p.pipe.Plan
	begin, err := p.pipe.beginOf(header, holding)
	if err != nil {
		return err
	}
	p.begin = begin
	p.rows, p.batches = p.begin, header.Batches
	if p.held != nil {
		if p.held, err = p.pipe.pendingAt(p.begin, holding); err != nil {
			return err
		}
		p.rows = p.held.delivered()
	}
	if engine.CountsRead(plan.Engine()) {
		p.read, p.rows = p.begin, header.Rows
	}
	return p.start(p.groupSize(p.batches), p.begin)
}

// pendingAt returns what is pending at a position. holding is what encode returned there.
func (pl *Pipeline) pendingAt(begin int64, holding []byte) (pending, error) {
	if pl.BlockRows > 0 {
		if m, ok := decodeMissing(pl.BlockRows, begin, holding); ok {
			return m, nil
		}
	} else if h, ok := decodeHeld(begin, holding, mostHeld(pl.Plan.Bucket)); ok {
		return h, nil
	}
	return nil, stateError(pl.Plan, "the saved state has no positions of records that this loader could have passed over")
}

// beginOf returns the position of a saved state. holding is as in [pass.seek].
func (pl *Pipeline) beginOf(header *stateHeader, holding []byte) (begin int64, err error) {
	plan, at, size := pl.Plan, header.Position, pl.epochExamples
	shard, shards := shardOf(plan)
	same := at != nil && at.Shard == shard && at.Shards == shards
	switch {
	case at == nil || at.Epoch < 0 || at.Record < 0 || at.Record > 0 && at.Record >= size && same || size > 0 && at.Epoch > (1<<62)/size:
		return 0, stateError(plan, "the saved state has no position that this loader could begin at")
	case at.Data != pl.dataDigest():
		return 0, stateError(plan, "the data files have changed since the state was saved")
	case !same && (at.Record != 0 || len(holding) > 0):
		return 0, stateError(plan, "the state was saved within an epoch by the shard with index %d of %d, and this loader reads that with index %d of %d; "+
			"only at the end of an epoch all shards are at the same position", at.Shard, at.Shards, shard, shards)
	case len(holding) > 0 && pl.BlockRows == 0 && pl.Plan.Bucket == nil:
		return 0, stateError(pl.Plan, "workers of a data service delivered records in any order, and some before this state are missing; give the config the key service again, which needs no other machine with {\"worker\": {\"trusted_network\": true}}")
	}
	return at.Epoch*size + at.Record, nil
}

// mostHeld returns how many records buckets may hold when none of them is full.
func mostHeld(b *spec.Bucket) (n int64) {
	for _, size := range b.Sizes {
		n += size - 1
	}
	return n
}

// replayed returns the state of a plan that replays, after the batches so far.
func (p *pass) replayed() *stateHeader {
	at := &position{}
	at.Epoch, at.Record = source.ReplayPosition(p.replayNumber())
	at.Shard, at.Shards = shardOf(p.pipe.Plan)
	return &stateHeader{Batches: p.batches, Rows: p.rows, Read: p.read, Group: p.group, Position: at, LeftOut: p.leftOut()}
}

// replayNumber returns the number of the next element of a plan that replays.
//
// For records it follows from the rows. All left-out records are known only after the
// first epoch was read. Until then fewer rows were delivered than the records that are
// good or not yet read, so the division gives epoch 0, which is right.
func (p *pass) replayNumber() int64 {
	plan := p.pipe.Plan
	if plan.Engine().NumbersElements() {
		return p.number
	}
	size, _ := p.pipe.Scan.Records()
	if left := p.pipe.Quarantine; left != nil {
		size -= left.Counted(p.pipe.Scan.Count)
	}
	if size <= 0 {
		return 0
	}
	return source.ReplayNumber(p.seen()/size, p.seen()%size)
}

// replay starts the iterator at the epoch of a saved state, after the elements that
// were delivered.
func (p *pass) replay(header *stateHeader) error {
	number, err := p.pipe.replayAt(header)
	if err != nil {
		return err
	}
	p.number = number
	p.rows, p.read, p.batches = header.Rows, header.Read, header.Batches
	return p.start(p.groupSize(p.batches), p.number)
}

// shardOf returns the shard of each epoch's order that a plan reads, and the number of
// shards.
func shardOf(p *plan.Plan) (shard, shards int64) {
	if p.Records == nil {
		return 0, 1
	}
	return p.Records.Shard, p.Records.Shards
}

// replayAt returns the number of the element at which a run from a state begins.
func (pl *Pipeline) replayAt(header *stateHeader) (number int64, err error) {
	at := header.Position
	shard, shards := shardOf(pl.Plan)
	switch {
	case at == nil || at.Epoch < 0 || at.Record < 0 || at.Epoch > math.MaxInt64>>41 || at.Record > 1<<40-1:
		return 0, stateError(pl.Plan, "the saved state has no position that this loader could begin at")
	case at.Data != pl.dataDigest():
		return 0, stateError(pl.Plan, "the data files have changed since the state was saved")
	case at.Shard != shard || at.Shards != shards:
		return 0, stateError(pl.Plan, "the state was saved by part %d of %d, and this loader reads part %d of %d", at.Shard, at.Shards, shard, shards)
	}
	return source.ReplayNumber(at.Epoch, at.Record), nil
}
