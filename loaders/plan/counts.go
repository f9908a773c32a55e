package plan

import (
	"context"

	"millrace/loaders/permutation"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/loaders/stage/order"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// Counts are the amounts of data to read, as far as index files give them.
type Counts struct {
	Records    int64 `json:"records"`     // records that each epoch reads
	AllRecords int64 `json:"all_records"` // records of all files
	Bytes      int64 `json:"bytes"`       // data of the records of all files, uncompressed
	Batches    int64 `json:"batches"`     // batches of an epoch that is the only one; -1: not known before the data are read
}

// IndexedCounts counts the records by the index files, without a look at the data. It
// returns nil if a file has no index that fits. The error comes from a context that
// ended, or from a mixture that cannot be drawn.
func (p *Plan) IndexedCounts(ctx context.Context) (*Counts, error) {
	if p.HasRemoteFiles() {
		return nil, nil
	}
	paths := make([]string, len(p.Files))
	for i, f := range p.Files {
		paths[i] = f.Path
	}
	files, err := index.Lookup(ctx, paths, &index.Options{
		ReaderOptions: tfrecord.ReaderOptions{Compression: p.Manifest.Compression}, CacheDir: index.CacheDir(),
		SkipRest: p.BadRecords != nil,
	})
	if err != nil {
		return nil, err
	}
	scan := &Scan{Indexes: make([]*tfrecord.Index, len(files))}
	for i, f := range files {
		scan.Indexes[i] = f.Index
	}
	all, known := scan.Records()
	if !known {
		return nil, nil
	}
	if err := order.MeasureMixture(p.Spec, scan); err != nil {
		return nil, err
	}
	c := &Counts{AllRecords: all, Bytes: scan.Bytes(), Batches: -1}
	c.Records, _ = order.EpochRecords(p.Spec, scan)
	if p.Window != nil && p.Records != nil {
		start, end := order.Range(p.Spec, all)
		c.Records = end - start
	}
	once := p.clone()
	once.Epochs = 1
	if rows, known := once.ExpectedRows(scan, 0); known && p.Bucket == nil && p.Chunks == nil && !p.Filters() {
		c.Batches = (rows + p.BatchSize - 1) / p.BatchSize
	}
	return c, nil
}

// Rows returns how many examples a whole run delivers. The second result is false if
// that is not known before the data is read: for an endless run, for windows that are
// not read by their positions, or where each bucket drops a remainder.
func (p *Plan) Rows(scan *Scan) (rows int64, known bool) { return p.RowsWithout(scan, 0) }

// RowsWithout is Rows for a run that leaves out the given number of records in each
// epoch.
func (p *Plan) RowsWithout(scan *Scan, leftOut int64) (rows int64, known bool) {
	return stage.Rows(p.Stages(), stage.Data{Choice: p.Engine(), Found: scan, Skipped: leftOut})
}

// ExpectedRows estimates the rows of a whole run that leaves out the given number of
// bad records of the files. The second result is false if no estimate is possible. The
// estimate is for progress displays: unlike [Plan.Rows] it also counts windows of one
// size, and where it is not known how often a bad record would have occurred, it
// assumes once.
func (p *Plan) ExpectedRows(scan *Scan, leftOut int64) (rows int64, known bool) {
	if !missesEachEpoch(p.Spec) {
		leftOut = 0
	}
	return stage.Rows(p.Stages(), stage.Data{Choice: p.Engine(), Found: scan, Skipped: leftOut, Expect: true})
}

// missesEachEpoch reports whether a left-out record is missing exactly once in each
// epoch.
func missesEachEpoch(s *spec.Spec) bool {
	if s.Records == nil || s.Epochs == 1 && s.Mixture == nil {
		return true
	}
	return s.Mixture == nil && (s.Records.Shards == 1 || s.Records.Shuffling == permutation.None)
}

// EpochRows returns how many examples an epoch of a plan has, those included that
// drop_remainder drops; 0 if that is not known before the data are read.
func EpochRows(p *Plan, scan *Scan) int64 {
	once := p.clone()
	once.Epochs, once.DropRemainder = 1, false
	rows, known := once.Rows(scan)
	if !known {
		return 0
	}
	return rows
}

// ExpectedBatches returns the number of batches for a number of rows, 0 if that is not
// known.
func (p *Plan) ExpectedBatches(rows int64) int64 {
	if p.Bucket != nil || p.Chunks != nil {
		return 0
	}
	once := *p.Spec
	once.DropRemainder = false // rows has no dropped ones
	return once.BatchCount(rows)
}
