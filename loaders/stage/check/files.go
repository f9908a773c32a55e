package check

import (
	"context"
	"errors"
	"fmt"
	"io"

	"millrace"
	"millrace/loaders/quarantine"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/order"
	"millrace/tfrecord"
)

// FindBadRecord reads the local files, in order, up to the first bad record, and returns
// an error with its location. A record is bad if it is damaged, contradicts the manifest,
// or is refused by a later stage. FindBadRecord returns nil if every record is fine. It
// costs a strict pass over the data, so callers use it after a failure whose error from
// TensorFlow names neither file nor record.
func FindBadRecord(ctx context.Context, s *spec.Spec) error {
	for _, f := range s.Files {
		if f.Remote {
			continue
		}
		if err := find(ctx, s, f.Path, func(r tfrecord.Record) error { return Record(s, r.Data) }); err != nil {
			return Blame(s, err)
		}
	}
	return nil
}

// Reread checks the record of an error from a native operation again. The error already
// has the record's location. Reread explains it in terms of the manifest, and proposes for
// example a similar key. It returns nil if it finds nothing, and reads no other file.
func Reread(ctx context.Context, s *spec.Spec, place *millrace.Error) error {
	for _, f := range s.Files {
		if f.Path != place.File || f.Remote {
			continue
		}
		err := find(ctx, s, f.Path, func(r tfrecord.Record) error {
			if place.Record < 0 || r.Ordinal < place.Record {
				return nil
			}
			if err := Record(s, r.Data); err != nil {
				return err
			}
			return errNothing
		})
		if err == nil || errors.Is(err, errNothing) {
			return nil
		}
		return Blame(s, err)
	}
	return nil
}

// errNothing ends the reading of a file after a sound record.
var errNothing = errors.New("nothing is wrong with the record")

// find calls a function with the records of a file until it returns an error, or the
// context ends.
func find(ctx context.Context, s *spec.Spec, path string, visit func(tfrecord.Record) error) error {
	return tfrecord.Find(path, &tfrecord.ReaderOptions{Compression: s.Manifest.Compression}, func(r tfrecord.Record) error {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		return visit(r)
	})
}

// Blame names the loader's config in an error about one of its data files.
func Blame(s *spec.Spec, err error) error {
	var e *millrace.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", millrace.Quote(s.Path), err)
	}
	e.Loader = s.Path
	return err
}

// EachRecord calls a function with the records of file i, in their order, until the
// function returns false or an error. If the plan skips bad records, the function gets
// only good ones; the others are not counted.
func EachRecord(ctx context.Context, s *spec.Spec, i int, index *tfrecord.Index, visit func(tfrecord.Record) (more bool, err error)) error {
	d, err := tfrecord.OpenFile(s.Files[i].Path, &tfrecord.ReaderOptions{Compression: s.Manifest.Compression})
	if err != nil {
		return err
	}
	defer d.Close()
	r := &quarantine.Reader{Reader: d, Index: index}
	if s.BadRecords != nil {
		r.Check = func(record []byte) error { return Record(s, record) }
		r.LeaveOut = func(quarantine.Entry, error) error { return nil }
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
			return tfrecord.At(err, s.Files[i].Path, r.Record())
		}
	}
	return nil
}

// NewQuarantine returns the list of the records that a run skips, nil if the
// first bad record ends it. ledger is the path of the file that names them, "" for none.
func NewQuarantine(s *spec.Spec, ledger string, found *scan.Scan) *quarantine.List {
	if s.BadRecords == nil {
		return nil
	}
	var file *quarantine.Ledger
	if ledger != "" {
		file = quarantine.NewLedger(ledger)
	}
	records, _ := found.Records() // known: the files are local
	limit, asked := s.BadRecords.Limit(records), s.BadRecords.Text
	if n, _ := order.EpochRecords(s, found); s.Epochs == 0 && limit >= n {
		limit, asked = max(n-1, 0), "there are no more records, and with epochs null the loader would look for a good one for ever"
	}
	return quarantine.NewList(limit, asked, file)
}
