package plan

import (
	"context"

	"millrace/loaders/stage/order"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// Counts is how much there is to read, as far as index files tell.
type Counts struct {
	Records    int64 `json:"records"`     // that each epoch reads
	AllRecords int64 `json:"all_records"` // of all files
	Bytes      int64 `json:"bytes"`       // data of the records of all files, uncompressed
	Batches    int64 `json:"batches"`     // in each epoch, as if it were the only one; -1: not known before the data are read
}

// IndexedCounts counts the records by the index files, without a look at the data.
// It returns nil if a file has no index that fits. The error is that of a context that
// ended, or of a mixture that cannot be drawn.
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
	if rows, known := once.ExpectedRows(scan, 0); known && p.Bucket == nil && p.Chunks == nil {
		c.Batches = (rows + p.BatchSize - 1) / p.BatchSize
	}
	return c, nil
}
