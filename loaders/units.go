package loaders

import (
	"context"
	"fmt"

	"millrace"
	"millrace/loaders/diag"
	"millrace/tfrecord"
)

// unitName says what windows are counted in.
func (p *Plan) unitName() string {
	if p.Type == DiscreteSequence {
		return "records"
	}
	return "positions"
}

// units counts what file i holds for windows: records, or positions along the
// first axis. It may stop at enough. It is false for a file that only
// TensorFlow can read.
func (p *Plan) units(ctx context.Context, scan *Scan, i int, enough int64) (n int64, known bool, err error) {
	records := scan.count(i)
	f := p.Features[0]
	switch {
	case records < 0:
		return 0, false, nil
	case p.Type == DiscreteSequence:
		return records, true, nil
	case !f.VarLen:
		return elements([]int64{records, f.TensorShape()[0]}), true, nil
	}
	o := &tfrecord.ReaderOptions{Compression: p.Manifest.Compression}
	for record, err := range tfrecord.Records(p.Files[i].Path, o) {
		if err == nil && ctx.Err() != nil {
			err = canceled(ctx)
		}
		if err != nil || n >= enough {
			return n, true, err
		}
		length, err := p.listLength(record.Data, f)
		if err != nil {
			return n, true, tfrecord.At(err, p.Files[i].Path, record)
		}
		n += length
	}
	return n, true, nil
}

// listLength returns the length of a feature list in a record.
func (p *Plan) listLength(data []byte, f *Feature) (int64, error) {
	features, err := p.features(data)
	if err != nil {
		return 0, err
	}
	list, err := features.stored(f)
	if err != nil {
		return 0, inFeature(err, f, features.hint(f))
	}
	return int64(len(list)), nil
}

// noWindow returns an error if every file is too short for a window, and nil
// if one is long enough or that cannot be told.
func (p *Plan) noWindow(ctx context.Context, scan *Scan) error {
	longest, at := int64(-1), -1
	for i := range p.Files {
		n, known, err := p.units(ctx, scan, i, p.Window.least())
		switch {
		case err != nil:
			return p.blame(err)
		case !known || n >= p.Window.least():
			return nil
		case n > longest:
			longest, at = n, i
		}
	}
	e := p.windowless()
	e.Msg += fmt.Sprintf("; the longest has %d", longest)
	if at >= 0 {
		e.File = p.Files[at].Path
	}
	return e
}

// windowless is the error of a loader all of whose files are too short.
func (p *Plan) windowless() *millrace.Error {
	e := millrace.Errorf(millrace.ErrSchema, "no file is long enough for a window of %d %s", p.Window.Min, p.unitName())
	e.Loader, e.Key = p.Path, "args.min_window"
	return e
}

// ShortFiles warns of each file that is too short for a window. It counts
// records as the scan found them, and reads the files whose records differ in
// length as far as it takes. Independent loaders have no such files.
func (p *Plan) ShortFiles(ctx context.Context, scan *Scan) (diag.List, error) {
	if p.Window == nil {
		return nil, nil
	}
	var short diag.List
	for i, f := range p.Files {
		n, known, err := p.units(ctx, scan, i, p.Window.least())
		if err != nil {
			return short, p.blame(err)
		}
		if !known || n >= p.Window.least() {
			continue
		}
		d := &diag.Diagnostic{File: f.Path, Severity: diag.Warning, Msg: fmt.Sprintf("%d %s, shorter than min_window (%d): it gives no window", n, p.unitName(), p.Window.Min)}
		short = append(short, d)
	}
	return short, nil
}
