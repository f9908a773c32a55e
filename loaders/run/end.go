package run

import (
	"context"

	"millrace"
)

// verify decides whether the end of the data is believed. TensorFlow reports
// the same end for data that ran out, for a file cut between two records and
// for an iterator that was cancelled, so the rows are counted and the files
// looked at again.
func (p *producer) verify(ctx context.Context) error {
	pl := p.pipe
	if pl.Plan.Epochs == 0 {
		return pl.Plan.NoRecords()
	}
	if p.rows == 0 && pl.Plan.Window != nil {
		if err := pl.Plan.CheckFileLengths(ctx, pl.Scan); err != nil {
			return err
		}
	}
	want, known := pl.Plan.Rows(pl.Scan)
	if known && p.rows != want {
		if err := pl.Plan.FindBadRecord(ctx); err != nil {
			return err
		}
		e := millrace.Errorf(millrace.ErrTruncated, "the data ended after %d of %d examples", p.rows, want)
		e.Loader = pl.Plan.Path
		return e
	}
	return pl.Scan.Changed()
}
