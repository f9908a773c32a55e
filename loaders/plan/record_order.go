package plan

import (
	"sort"

	"millrace"
	"millrace/loaders/chunks"
	"millrace/loaders/permutation"
)

// Order says which record comes when, where records are read by their place: see
// [spec.RecordOrder]. Positions count the records of all epochs, one epoch after the
// other. Only one goroutine at a time may use it.
type Order struct {
	plan   *Plan
	starts []int64 // for each file how many records are in the files before it, and in all
	first  int64   // of the records in the range
	count  int64   // of them
	begin  int64   // of the shard, in each epoch's order of the range
	size   int64   // of the shard

	epoch       int64 // that the permutation is of
	permutation *permutation.Permutation
}

// NewOrder returns the order of a plan with [spec.RecordOrder] and a scan of it.
func (p *Plan) NewOrder(scan *Scan) *Order {
	o := &Order{plan: p, starts: make([]int64, 1, len(p.Files)+1), epoch: -1}
	for i := range p.Files {
		o.starts = append(o.starts, o.starts[i]+scan.Count(i))
	}
	var end int64
	o.first, end = p.recordRange(o.starts[len(p.Files)])
	o.count = end - o.first
	begin, behind := chunks.Part(o.count, p.Records.Shards, p.Records.Shard)
	o.begin, o.size = begin, behind-begin
	return o
}

// EpochRecords returns the number of records in each epoch.
func (o *Order) EpochRecords() int64 { return o.size }

// At returns the file and the ordinal in it of the record at a position.
func (o *Order) At(position int64) (file int, record int64) {
	epoch, at := position/o.size, o.begin+position%o.size
	if o.plan.Records.Exact {
		if o.epoch != epoch {
			o.permutation = permutation.New(o.count, permutation.Key{Seed: o.plan.Seed, Epoch: epoch})
			o.epoch = epoch
		}
		at = o.permutation.At(at)
	}
	at += o.first
	file = sort.Search(len(o.starts)-1, func(i int) bool { return o.starts[i+1] > at })
	return file, at - o.starts[file]
}

// recordRange returns which of so many records the plan reads.
func (p *Plan) recordRange(records int64) (start, end int64) {
	start, end = p.Records.Start, p.Records.End
	if end < 0 {
		end = max(start, records)
	}
	return start, end
}

// EpochRecords returns the number of records of one pass, and whether every file was
// counted.
func (p *Plan) EpochRecords(scan *Scan) (n int64, known bool) {
	records, known := scan.Records()
	if !known || p.Records == nil {
		return records, known
	}
	return p.NewOrder(scan).EpochRecords(), true
}

// checkRange returns an error if the config's range has records that are not there.
func (p *Plan) checkRange(scan *Scan) error {
	records, known := scan.Records()
	if p.Records == nil || !known {
		return nil
	}
	start, end := p.recordRange(records)
	if end <= records {
		return nil
	}
	e := millrace.Errorf(millrace.ErrConfig, "ends at record %d, but the data files hold only %d", end, records)
	e.Loader, e.Key = p.Path, "args.range.end"
	if start > records {
		e.Msg = millrace.Errorf(millrace.ErrConfig, "starts at record %d, but the data files hold only %d", start, records).Msg
		e.Key = "args.range.start"
	}
	return e
}

// Seeks reports whether a run can begin at any position without reading the records
// before it. Its state is the position alone. Buckets hold records back, so that a
// position does not say which batches come next.
func (p *Plan) Seeks() bool { return p.Records != nil && p.Bucket == nil }
