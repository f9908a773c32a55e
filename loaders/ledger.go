package loaders

import (
	"context"

	"millrace"
)

// expected returns how many rows a whole run delivers, and whether that is
// known.
func (pl *Pipeline) expected() (rows int64, known bool) {
	records, known := pl.scan.Records()
	p := pl.Plan
	if !known || p.Epochs == 0 || p.Type != Independent {
		return 0, false
	}
	rows = records * p.Epochs
	if p.DropRemainder {
		if p.Bucket != nil {
			return 0, false // every bucket drops a remainder of its own
		}
		rows -= rows % p.BatchSize
	}
	return rows, true
}

// verify decides whether the end of the data is believed. TensorFlow reports
// the same end for data that ran out, for a file cut between two records and
// for an iterator that was cancelled, so the rows are counted and the files
// looked at again.
func (p *producer) verify(ctx context.Context) error {
	pl := p.pipe
	if pl.Plan.Epochs == 0 {
		return pl.Plan.noRecords()
	}
	if p.rows == 0 && pl.Plan.Window != nil {
		if err := pl.Plan.noWindow(ctx, pl.scan); err != nil {
			return err
		}
	}
	want, known := pl.expected()
	if known && p.rows != want {
		if err := pl.locate(ctx); err != nil {
			return err
		}
		e := millrace.Errorf(millrace.ErrTruncated, "the data ended after %d of %d examples", p.rows, want)
		e.Loader = pl.Plan.Path
		return e
	}
	return pl.scan.changed()
}
