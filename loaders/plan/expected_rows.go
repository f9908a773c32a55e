package plan

import (
	"millrace/loaders/permutation"
	"millrace/loaders/stage/order"
)

// ExpectedRows returns how many rows a whole run gives, and whether that can be said, where
// so many records of the files are known to be bad and left out. It is for people who
// wait: unlike [Plan.Rows] it counts windows of one size, too, and where it is not known how
// often a bad record would have come, it counts as if it came.
func (p *Plan) ExpectedRows(scan *Scan, leftOut int64) (rows int64, known bool) {
	if !p.missesEachEpoch() {
		leftOut = 0
	}
	if p.Window == nil || p.Records != nil {
		return p.RowsWithout(scan, leftOut)
	}
	if _, counted := scan.Records(); !counted || p.Epochs == 0 || p.Bucket != nil {
		return 0, false
	}
	if _, hidden := order.HidesWindows(p.Spec); hidden != "" {
		return 0, false
	}
	rows = order.OfRows(p.Spec, scan).EpochRecords() * p.Epochs
	if p.DropRemainder {
		rows -= rows % p.BatchSize
	}
	return rows, true
}

// missesEachEpoch reports whether a record that is left out is missing once in each epoch.
func (p *Plan) missesEachEpoch() bool {
	if p.Records == nil || p.Epochs == 1 && p.Mixture == nil {
		return true
	}
	return p.Mixture == nil && (p.Records.Shards == 1 || p.Records.Shuffling == permutation.None)
}

// ExpectedBatches returns how many batches so many rows are, 0 if that is not known.
func (p *Plan) ExpectedBatches(rows int64) int64 {
	if p.Bucket != nil || p.Chunks != nil {
		return 0
	}
	return (rows + p.BatchSize - 1) / p.BatchSize
}
