package run

import (
	"context"

	"millrace"
)

// verifyEnd decides whether the data ended where it should, given how many rows
// were delivered. TensorFlow reports the same end for data that ran out, for a
// file that was cut between two records and for an iterator that was cancelled.
// So the rows are counted, and the files compared with what the scan found.
func (pl *Pipeline) verifyEnd(ctx context.Context, rows int64) error {
	if pl.Plan.Epochs == 0 {
		return pl.Plan.NoRecords()
	}
	if rows == 0 && pl.Plan.Window != nil {
		if err := pl.Plan.CheckFileLengths(ctx, pl.Scan); err != nil {
			return err
		}
	}
	want, known := pl.Plan.Rows(pl.Scan)
	if known && rows != want {
		if err := pl.Plan.FindBadRecord(ctx); err != nil {
			return err
		}
		e := millrace.Errorf(millrace.ErrTruncated, "the data ended after %d of %d examples", rows, want)
		e.Loader = pl.Plan.Path
		return e
	}
	return pl.Scan.Changed()
}
