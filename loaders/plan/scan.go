package plan

import (
	"context"
	"fmt"

	"millrace"
	"millrace/internal/base/machine"
	"millrace/loaders/engine"
	"millrace/loaders/scan"
	"millrace/loaders/size"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/chunk"
	"millrace/loaders/stage/order"
	"millrace/loaders/stage/window"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// Scan is the result of a look at every data file. [Plan.Scan] makes it.
type Scan = scan.Scan

// Scan looks at all local files and at stored ones with an index: only at the record headers of plain files, at the
// whole stream of compressed ones, and at all records if [Plan.CheckRecords] is set.
// Where a file has an index that fits it (see package index), Scan reads that instead.
// The error is the first fault in file order, or that the plan's batches need more
// memory than there is.
func (p *Plan) Scan(ctx context.Context) (*Scan, error) {
	if err := p.Engine().RefuseRemote(); err != nil {
		return nil, err
	}
	var local []string
	for _, f := range p.Files {
		if engine.Counts(p.Engine(), f) {
			local = append(local, f.Path)
		}
	}
	scan := &Scan{Indexes: make([]*tfrecord.Index, len(p.Files))}
	found, err := index.Scan(ctx, local, &index.Options{
		ReaderOptions: tfrecord.ReaderOptions{Compression: p.Manifest.Compression},
		CacheDir:      index.CacheDir(),
		Layout:        p.Engine().ReadsByPlace() || p.Engine().Seeks() || p.Engine().Replays() || p.BadRecords != nil || p.DigestRecords,
		Write:         p.Records != nil,
		SkipRest:      p.BadRecords != nil,
		Warn:          func(err error) { scan.Warnings = append(scan.Warnings, err) },
	})
	if err != nil {
		return nil, check.Blame(p.Spec, err)
	}
	for i, f := range p.Files {
		if engine.Counts(p.Engine(), f) {
			scan.Indexes[i], found = found[0].Index, found[1:]
		}
	}
	if err := p.checkEmpty(scan); err != nil {
		return nil, err
	}
	if p.CheckRecords {
		if err := check.FindBadRecord(ctx, p.Spec); err != nil {
			return nil, err
		}
	}
	if err := order.CheckRange(p.Spec, scan); err != nil {
		return nil, err
	}
	if err := order.MeasureMixture(p.Spec, scan); err != nil {
		return nil, err
	}
	if total, ok := order.EpochRecords(p.Spec, scan); ok && total == 0 && p.Epochs == 0 {
		return nil, noRecords(p.Spec)
	}
	rows, known := p.Rows(scan)
	if err := size.CheckMemory(p.Spec, rows, known, machine.AvailableMemory()); err != nil {
		return nil, err
	}
	if p.Chunks != nil {
		return scan, chunk.Scan(ctx, p.Spec, scan)
	}
	return scan, window.Find(ctx, p.Spec, scan)
}

// checkEmpty returns an error for the first file without records, if the config
// wants none.
func (p *Plan) checkEmpty(scan *Scan) error {
	for i, f := range p.Files {
		if p.RefuseEmpty && scan.Count(i) == 0 {
			e := millrace.Errorf(millrace.ErrSchema, "the file holds no records, and args.empty_files is \"error\"")
			e.Loader, e.File = p.Path, f.Path
			return e
		}
	}
	return nil
}

// NoData returns the error of an endless loader that finds nothing to deliver.
func (p *Plan) NoData() error {
	switch {
	case p.Filters():
		return p.nothingKept()
	case p.Chunks != nil:
		return chunk.NoRow(p.Spec)
	case p.Window != nil:
		return window.NoWindow(p.Spec)
	}
	return noRecords(p.Spec)
}

// nothingKept returns the error of an endless loader whose filters keep no example.
func (p *Plan) nothingKept() error {
	e := millrace.Errorf(millrace.ErrSchema, "the filters keep no example of an epoch, and with epochs null the loader would look for one for ever")
	e.Loader = p.Path
	for _, s := range p.Steps {
		if s.Filters() {
			e.Key = fmt.Sprintf("args.processing_steps[%d]", s.Index)
			e.Msg += fmt.Sprintf("; %s", s.Action.Explain())
			break
		}
	}
	return e
}

// noRecords returns the error of an endless loader over files without records.
func noRecords(s *spec.Spec) error {
	e := millrace.Errorf(millrace.ErrSchema, "the data files hold no records, and with epochs null the loader would wait for ever")
	if s.Records != nil {
		e.Msg = "there is no record in this range or shard, and with epochs null the loader would wait for ever"
	}
	e.Loader, e.Key = s.Path, "args.epochs"
	return e
}
