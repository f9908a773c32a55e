package plan

import (
	"context"
	"fmt"
	"io"

	"millrace"
	"millrace/loaders/diag"
	"millrace/loaders/quarantine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
)

// units counts what file i holds for windows: records, or positions along the
// first axis. It may stop at enough. It is false for a file that only
// TensorFlow can read.
func (p *Plan) units(ctx context.Context, scan *Scan, i int, enough int64) (n int64, known bool, err error) {
	records := scan.Count(i)
	f := p.Features[0]
	switch {
	case records < 0:
		return 0, false, nil
	case p.BadRecords != nil: // how many of them are good is not known
	case p.Window.Unit == spec.Records:
		return records, true, nil
	case !f.VarLen:
		return spec.NumElements([]int64{records, f.TensorShape()[0]}), true, nil
	}
	err = p.eachRecord(ctx, scan, i, func(record tfrecord.Record) (more bool, err error) {
		length := int64(1)
		if p.Window.Unit != spec.Records {
			length, err = p.positions(record.Data, f)
		}
		n += length
		return n < enough, err
	})
	return n, true, err
}

// positions returns how many positions a record has.
func (p *Plan) positions(data []byte, f *spec.Feature) (int64, error) {
	if !f.VarLen {
		return f.TensorShape()[0], nil
	}
	return check.ListLength(p.Spec, data, f)
}

// eachRecord calls a function with the records of file i, in their order, until it
// returns false or an error. Where bad records are left out, it gets only good ones.
func (p *Plan) eachRecord(ctx context.Context, scan *Scan, i int, visit func(tfrecord.Record) (more bool, err error)) error {
	d, err := tfrecord.OpenFile(p.Files[i].Path, &tfrecord.ReaderOptions{Compression: p.Manifest.Compression})
	if err != nil {
		return err
	}
	defer d.Close()
	r := &quarantine.Reader{Reader: d, Index: scan.Indexes[i], LeaveOut: p.leaveOut()}
	if p.BadRecords != nil {
		r.Check = func(record []byte) error { return check.Record(p.Spec, record) }
	}
	for more := true; more; {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if more, err = visit(r.Record()); err != nil {
			return tfrecord.At(err, p.Files[i].Path, r.Record())
		}
	}
	return nil
}

// CheckFileLengths returns an error if every file is too short for a window. It
// returns nil if one is long enough, or if only TensorFlow can tell.
func (p *Plan) CheckFileLengths(ctx context.Context, scan *Scan) error {
	short, err := p.tooShort(ctx, scan)
	if err != nil {
		return p.blame(err)
	}
	if short == nil {
		return nil
	}
	return short
}

// tooShort returns an error that names the longest file if every file is too
// short for a window. err is what kept it from measuring a file.
func (p *Plan) tooShort(ctx context.Context, scan *Scan) (short *millrace.Error, err error) {
	longest, at := int64(-1), -1
	for i := range p.Files {
		n, known, err := p.units(ctx, scan, i, p.Window.Least())
		switch {
		case err != nil:
			return nil, err
		case !known || n >= p.Window.Least():
			return nil, nil
		case n > longest:
			longest, at = n, i
		}
	}
	short = p.NoWindow()
	short.Msg += fmt.Sprintf("; the longest has %d", longest)
	if at >= 0 {
		short.File = p.Files[at].Path
	}
	return short, nil
}

// NoWindow returns the error of a loader whose files are all too short for a
// window.
func (p *Plan) NoWindow() *millrace.Error {
	e := millrace.Errorf(millrace.ErrSchema, "no file is long enough for a window of %d %s", p.Window.Min, p.Window.Unit)
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
		n, known, err := p.units(ctx, scan, i, p.Window.Least())
		if err != nil {
			return short, p.blame(err)
		}
		if !known || n >= p.Window.Least() {
			continue
		}
		d := &diag.Diagnostic{File: f.Path, Severity: diag.Warning, Msg: fmt.Sprintf("%d %s, shorter than min_window (%d): it gives no window", n, p.Window.Unit, p.Window.Min)}
		short = append(short, d)
	}
	return short, nil
}
