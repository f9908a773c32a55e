package run

import (
	"context"

	"millrace"
	"millrace/loaders/plan"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/chunk"
	"millrace/loaders/stage/window"
)

// wantedRows returns how many rows a whole run delivers, if that is known, once all its
// records were read. Records that were left out are missing in every epoch. Where
// records are read by their positions, the reader itself checks that each exists.
func (pl *Pipeline) wantedRows() (rows int64, known bool) {
	if pl.epochRows > 0 && pl.Quarantine == nil {
		return pl.epochRows * pl.Plan.Epochs, true
	}
	if pl.Quarantine == nil {
		return pl.Plan.Rows(pl.Scan)
	}
	if pl.Plan.Engine().ReadsByPlace() {
		return 0, false
	}
	return pl.Plan.RowsWithout(pl.Scan, pl.Quarantine.Counted(pl.Scan.Count))
}

// dropped returns how many examples drop_remainder drops after the given number of rows: where no
// further batch of an epoch can follow.
func (pl *Pipeline) dropped(rows int64) int64 {
	if pl.epochRows == 0 || !pl.Plan.DropRemainder {
		return 0
	}
	if rest := pl.epochRows - rows%pl.epochRows; rest < pl.Plan.BatchSize {
		return rest
	}
	return 0
}

// ExpectedRows estimates how many rows a whole run gives. The second result is false if
// no estimate is possible. Each bad record that is left out reduces the number. See
// [plan.Plan.ExpectedRows]. It may be called during a run.
func (pl *Pipeline) ExpectedRows() (rows int64, known bool) {
	left := int64(0)
	if pl.Quarantine != nil {
		left = pl.Quarantine.Counted(pl.Scan.Count)
	}
	return pl.Plan.ExpectedRows(pl.Scan, left)
}

// filterSaw returns how many examples the filters of a whole run see, if that is known.
func (pl *Pipeline) filterSaw() (examples int64, known bool) {
	if !pl.Plan.Filters() {
		return 0, false
	}
	left := int64(0)
	if pl.Quarantine != nil {
		left = pl.Quarantine.Counted(pl.Scan.Count)
	}
	return plan.WithoutFilters(pl.Plan).RowsWithout(pl.Scan, left)
}

// verifyEnd returns an error if the data ended too early. rows is the number of
// rows delivered. TensorFlow reports the same end for complete data, for a file
// that was cut between two records, and for an iterator that was cancelled. So
// verifyEnd compares the number of rows with the expected number, and the files
// with the result of the scan.
func (pl *Pipeline) verifyEnd(ctx context.Context, rows int64) error {
	if pl.Plan.Epochs == 0 {
		return pl.Plan.NoData()
	}
	if rows == 0 && pl.Plan.Chunks != nil {
		if _, known := pl.Scan.Records(); !known {
			return chunk.NoRow(pl.Plan.Spec)
		}
		if err := chunk.CheckRows(ctx, pl.Plan.Spec, pl.Scan); err != nil {
			return err
		}
	}
	if rows == 0 && pl.Plan.Window != nil {
		if err := window.CheckFileLengths(ctx, pl.Plan.Spec, pl.Scan); err != nil {
			return err
		}
	}
	if all, known := pl.filterSaw(); known && !pl.Plan.DropRemainder {
		pl.filtered.Store(all - rows)
	}
	want, known := pl.wantedRows()
	if known && rows != want {
		if err := check.FindBadRecord(ctx, pl.Plan.Spec); err != nil {
			return err
		}
		e := millrace.Errorf(millrace.ErrTruncated, "the data ended after %d of %d examples", rows, want)
		e.Loader = pl.Plan.Path
		return e
	}
	return pl.Scan.Changed()
}
