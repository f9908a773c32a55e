package run

import (
	"millrace"
)

// # States without a run
//
// The question: who runs a graph in another process, such as Python, wants the states that a
// run here saves, and nothing of a run is there but how many batches it took.
//
// The answer: where a run can begin at any record, its state is a position, and the position
// follows from the number of batches. So a state is computed from that number, and what a
// state says becomes where a dataset begins.

// StateAfter returns the state of a run after n of its batches, without reading any. A plan
// whose position depends on the data is an error of class millrace.ErrConfig.
func (pl *Pipeline) StateAfter(batches int64) ([]byte, error) {
	if err := pl.checkComputed(); err != nil {
		return nil, err
	}
	if batches < 0 || batches > (1<<62)/pl.Plan.BatchSize {
		e := millrace.Errorf(millrace.ErrConfig, "there is no state after %d batches", batches)
		e.Loader = pl.Plan.Path
		return nil, e
	}
	rows := batches * pl.Plan.BatchSize
	if all, known := pl.Plan.Rows(pl.Scan); known && rows > all {
		if rows-all >= pl.Plan.BatchSize {
			e := millrace.Errorf(millrace.ErrConfig, "the run has %d rows, which are fewer than %d batches of %d", all, batches, pl.Plan.BatchSize)
			e.Loader = pl.Plan.Path
			return nil, e
		}
		rows = all // the last batch has fewer
	}
	at := &position{Data: pl.dataDigest()}
	at.Shard, at.Shards = shardOf(pl.Plan)
	if size := pl.epochExamples; size > 0 {
		at.Epoch, at.Record = rows/size, rows%size
	}
	return pl.encodeState(&stateHeader{Batches: batches, Rows: rows, Group: pl.GroupSize, Position: at}, nil)
}

// Begin returns where a run from a state begins: how many records come before, through all
// epochs, and how many batches. Its errors are those of a run from the state, and those of
// [Pipeline.StateAfter] about the plan.
func (pl *Pipeline) Begin(state []byte) (records, batches int64, err error) {
	if err := pl.checkComputed(); err != nil {
		return 0, 0, err
	}
	header, holding, err := pl.decodeState(state)
	if err != nil {
		return 0, 0, err
	}
	records, err = pl.beginOf(header, holding)
	return records, header.Batches, err
}

// checkComputed returns an error if the position of a run does not follow from how many batches
// it took, or if a dataset cannot begin there without Go.
func (pl *Pipeline) checkComputed() error {
	e, why := pl.Plan.Engine(), ""
	switch {
	case e.HoldsPositions() || e.Bucket != nil:
		why = "buckets hold records back"
	case e.BadRecords != nil:
		why = "bad records are skipped"
	case e.Filters():
		why = "how many records are filtered is not known before they are read"
	case !e.Seeks():
		why = "the records have no positions; shuffle_mode exact or block, shard or range give them some"
	case e.Records == nil && e.Window != nil:
		why = "windows are shuffled in buffers; use shuffle_mode exact or block"
	default:
		return nil
	}
	err := millrace.Errorf(millrace.ErrConfig, "a state of this loader does not follow from the number of batches: %s", why)
	err.Loader = pl.Plan.Path
	return err
}
