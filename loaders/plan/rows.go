package plan

import "millrace/loaders/stage/order"

// Rows returns how many examples a whole run delivers, and whether that is
// known before the data is read: not of an endless run, of windows that are not read by their place, or where
// each bucket drops a remainder of its own.
func (p *Plan) Rows(scan *Scan) (rows int64, known bool) { return p.RowsWithout(scan, 0) }

// RowsWithout is Rows where so many records of each epoch are left out.
func (p *Plan) RowsWithout(scan *Scan, leftOut int64) (rows int64, known bool) {
	if p.Chunks != nil && p.BadRecords != nil {
		return 0, false // how many rows are lost with a record is not known
	}
	if p.Chunks != nil {
		return p.chunkRows(scan)
	}
	records, known := order.EpochRecords(p.Spec, scan)
	if !known || p.Epochs == 0 || p.Window != nil && p.Records == nil {
		return 0, false
	}
	rows = (records - leftOut) * p.Epochs
	if !p.DropRemainder {
		return rows, true
	}
	if p.Bucket != nil {
		return 0, false
	}
	return rows - rows%p.BatchSize, true
}
