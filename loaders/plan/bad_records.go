package plan

import (
	"millrace/loaders/quarantine"
	"millrace/loaders/stage/order"
)

// NewQuarantine returns the list of the records that a run leaves out, nil if the
// first bad record ends it.
func (p *Plan) NewQuarantine(scan *Scan) *quarantine.List {
	if p.BadRecords == nil {
		return nil
	}
	var ledger *quarantine.Ledger
	if p.Quarantine != "" {
		ledger = quarantine.NewLedger(p.Quarantine)
	}
	records, _ := scan.Records() // known: the files are local
	limit, asked := p.BadRecords.Limit(records), p.BadRecords.Text
	if n, _ := order.EpochRecords(p.Spec, scan); p.Epochs == 0 && limit >= n {
		limit, asked = max(n-1, 0), "there are no more records, and with epochs null the loader would look for a good one for ever"
	}
	return quarantine.NewList(limit, asked, ledger)
}

// leaveOut returns what passes over bad records when the data are read for another
// purpose than a run: nobody counts them then.
func (p *Plan) leaveOut() func(quarantine.Entry, error) error {
	if p.BadRecords == nil {
		return nil
	}
	return func(quarantine.Entry, error) error { return nil }
}
