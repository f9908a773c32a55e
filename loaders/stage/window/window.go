// Package window checks whether data files are long enough for the windows of a config. It
// needs no TensorFlow.
//
//	short, err := window.ShortFiles(ctx, s, found)
package window

import (
	"context"
	"fmt"

	"millrace"
	"millrace/diag"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
)

// units counts the units of windows in file i: records, or positions along the first axis.
// It may stop at enough. It is false for a file that only TensorFlow can read.
func units(ctx context.Context, s *spec.Spec, found *scan.Scan, i int, enough int64) (n int64, known bool, err error) {
	records := found.Count(i)
	f := s.Features[0]
	switch {
	case records < 0:
		return 0, false, nil
	case s.BadRecords != nil: // how many of them are good is not known
	case s.Window.Unit == spec.Records:
		return records, true, nil
	case !f.VarLen:
		return spec.NumElements([]int64{records, f.TensorShape()[0]}), true, nil
	}
	err = check.EachRecord(ctx, s, i, found.Indexes[i], func(record tfrecord.Record) (more bool, err error) {
		length := int64(1)
		if s.Window.Unit != spec.Records {
			length, err = check.Length(s, record.Data, f)
		}
		n += length
		return n < enough, err
	})
	return n, true, err
}

// Find returns an error if a run of several epochs would not give a single window: reading
// them all in vain may take for ever. If the number of epochs is limited, Find ignores
// files that cannot be measured.
func Find(ctx context.Context, s *spec.Spec, found *scan.Scan) error {
	if s.Window == nil || s.Epochs == 1 {
		return nil
	}
	short, err := tooShort(ctx, s, found)
	switch {
	case err != nil && s.Epochs == 0:
		return check.Blame(s, err)
	case short != nil:
		return short
	}
	return nil
}

// CheckFileLengths returns an error if every file is too short for a window. It returns nil
// if one file is long enough, or if only TensorFlow can read them.
func CheckFileLengths(ctx context.Context, s *spec.Spec, found *scan.Scan) error {
	short, err := tooShort(ctx, s, found)
	if err != nil {
		return check.Blame(s, err)
	}
	if short == nil {
		return nil
	}
	return short
}

// tooShort returns an error that names the longest file if every file is too short for a
// window. Its result err is the reason why a file could not be measured.
func tooShort(ctx context.Context, s *spec.Spec, found *scan.Scan) (short *millrace.Error, err error) {
	longest, at := int64(-1), -1
	for i := range s.Files {
		n, known, err := units(ctx, s, found, i, s.Window.Least())
		switch {
		case err != nil:
			return nil, err
		case !known || n >= s.Window.Least():
			return nil, nil
		case n > longest:
			longest, at = n, i
		}
	}
	short = NoWindow(s)
	short.Msg += fmt.Sprintf("; the longest has %d", longest)
	if at >= 0 {
		short.File = s.Files[at].Path
	}
	return short, nil
}

// NoWindow returns the error of a loader whose files are all too short for a
// window.
func NoWindow(s *spec.Spec) *millrace.Error {
	e := millrace.Errorf(millrace.ErrSchema, "no file is long enough for a window of %d %s", s.Window.Min, s.Window.Unit)
	e.Loader, e.Key = s.Path, "args.min_window"
	return e
}

// ShortFiles warns of each file that is too short for a window. It counts
// records as the scan found them, and reads the files whose records differ in
// length as far as it takes. Independent loaders have no such files.
func ShortFiles(ctx context.Context, s *spec.Spec, found *scan.Scan) (diag.List, error) {
	if s.Window == nil {
		return nil, nil
	}
	var short diag.List
	for i, f := range s.Files {
		n, known, err := units(ctx, s, found, i, s.Window.Least())
		if err != nil {
			return short, check.Blame(s, err)
		}
		if !known || n >= s.Window.Least() {
			continue
		}
		d := &diag.Diagnostic{File: f.Path, Severity: diag.Warning, Msg: fmt.Sprintf("%d %s, shorter than min_window (%d): it gives no window", n, s.Window.Unit, s.Window.Min)}
		short = append(short, d)
	}
	return short, nil
}
