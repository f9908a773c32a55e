package plan

// Rows returns how many examples a whole run delivers, and whether that is
// known before the data is read: not of an endless run, of windows that are not read by their place, or where
// each bucket drops a remainder of its own.
func (p *Plan) Rows(scan *Scan) (rows int64, known bool) {
	if p.Chunks != nil {
		return p.chunkRows(scan)
	}
	records, known := p.EpochRecords(scan)
	if !known || p.Epochs == 0 || p.Window != nil && p.Records == nil {
		return 0, false
	}
	rows = records * p.Epochs
	if !p.DropRemainder {
		return rows, true
	}
	if p.Bucket != nil {
		return 0, false
	}
	return rows - rows%p.BatchSize, true
}
