package run

import "millrace"

// # States without a run
//
// The question: who runs a graph in another process, such as Python, wants the states that a
// run here saves, and all that is known of a run there is how many batches it took.
//
// The answer: where a run can begin at any record, or where files are read in order, the number
// of batches is enough. Elsewhere what was in these batches decides, such as the lengths of
// records that buckets hold: somebody has to run the loader up to there, and saves its state.
//
// The other way is open to all plans: a dataset begins at a position, at an element of an
// epoch, or it makes the batches before the state once more and skips them.

// ComputesStates reports whether [Pipeline.StateAfter] gives the state after n batches.
func (pl *Pipeline) ComputesStates(n int64) bool {
	if pl.Plan.WithinEpoch && pl.epochRows == 0 {
		return n == 0
	}
	return n == 0 || pl.seeksByBatches() || pl.readsInOrder()
}

// seeksByBatches reports whether the position of a run follows from the number of its batches.
func (pl *Pipeline) seeksByBatches() bool {
	e := pl.Plan.Engine()
	return e.Seeks() && e.Bucket == nil && e.BadRecords == nil && !e.Filters()
}

// readsInOrder reports whether the rows of a run are the records of the files, in their order.
func (pl *Pipeline) readsInOrder() bool {
	e := pl.Plan.Engine()
	return keepsIterator(e) && e.Window == nil && e.Bucket == nil && e.BadRecords == nil && !e.Filters()
}

// StateAfter returns the state of a run after some of its batches, without reading any; see
// [Pipeline.ComputesStates].
func (pl *Pipeline) StateAfter(batches int64) ([]byte, error) {
	if batches < 0 || batches > (1<<62)/pl.Plan.BatchSize {
		return nil, pl.configError("there is no state after %d batches", batches)
	}
	if !pl.ComputesStates(batches) {
		return nil, pl.configError("a state of this loader does not follow from the number of batches")
	}
	if batches == 0 {
		return pl.stateOf(0, 0)
	}
	if pl.Plan.WithinEpoch {
		return pl.stateWithin(batches)
	}
	rows := batches * pl.Plan.BatchSize
	if all, known := pl.Plan.Rows(pl.Scan); known && rows > all {
		if rows-all >= pl.Plan.BatchSize {
			return nil, pl.configError("the run has %d rows, which are fewer than %d batches of %d", all, batches, pl.Plan.BatchSize)
		}
		rows = all // the last batch has fewer
	}
	return pl.stateOf(batches, rows)
}

// stateWithin is [Pipeline.StateAfter] for batches that end with their epochs.
func (pl *Pipeline) stateWithin(batches int64) ([]byte, error) {
	p := pl.Plan
	once := *p.Spec
	once.Epochs = 1
	each := once.BatchCount(pl.epochRows)
	if each == 0 || p.Epochs > 0 && batches > p.Epochs*each {
		return nil, pl.configError("the run has %d epochs of %d rows, which are fewer than %d batches of %d", p.Epochs, pl.epochRows, batches, p.BatchSize)
	}
	rows := batches/each*pl.epochRows + min(batches%each*p.BatchSize, pl.epochRows)
	return pl.stateOf(batches, rows)
}

// stateOf returns a state that has no bytes of an iterator.
func (pl *Pipeline) stateOf(batches, rows int64) ([]byte, error) {
	header := &stateHeader{Batches: batches, Rows: rows, Group: pl.GroupSize}
	if keepsIterator(pl.Plan.Engine()) {
		header.Skip = batches
		return pl.encodeState(header, nil)
	}
	header.Position = &position{Data: pl.dataDigest()}
	header.Position.Shard, header.Position.Shards = shardOf(pl.Plan)
	if size := pl.epochExamples; size > 0 {
		header.Position.Epoch, header.Position.Record = rows/size, rows%size
	}
	return pl.encodeState(header, nil)
}

// Start says where a dataset begins that continues from a state. Only one of Skip and Batches
// is not 0.
type Start struct {
	Skip    int64 // as [target.Fixed] has it
	Batches int64 // how many batches the dataset makes and skips
	Before  int64 // how many batches the run has delivered
}

// Begin returns where a dataset begins that continues from a state. A run from the state has the
// same errors.
func (pl *Pipeline) Begin(state []byte) (at Start, err error) {
	header, holding, err := pl.decodeState(state)
	if err != nil {
		return at, err
	}
	e := pl.Plan.Engine()
	at = Start{Batches: header.Batches, Before: header.Batches}
	switch {
	case e.Filters():
		return at, nil
	case e.Replays():
		number, err := pl.replayAt(header)
		return Start{Skip: number, Before: header.Batches}, err
	case !e.Seeks():
		return at, nil
	}
	begin, err := pl.beginOf(header, holding)
	if err != nil {
		return at, err
	}
	if e.Bucket == nil && (e.Records != nil || e.Window == nil) {
		return Start{Skip: begin, Before: header.Batches}, nil
	}
	if shard, shards := shardOf(pl.Plan); header.Position.Shard != shard || header.Position.Shards != shards {
		return at, stateError(pl.Plan, "the state was saved by part %d of %d, and only a run in Go can continue from it as part %d of %d",
			header.Position.Shard, header.Position.Shards, shard, shards)
	}
	return at, nil
}

// configError returns an error about the config of the plan.
func (pl *Pipeline) configError(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.Loader = pl.Plan.Path
	return e
}
