package tfrecord

import (
	"io"
	"iter"

	"millrace"
)

// Record is one record of a file.
type Record struct {
	Ordinal int64  // in the file, from 0
	Offset  int64  // of the header, in the decompressed bytes
	Data    []byte // valid until the next record is read
}

// Records reads a file from start to end. An error comes last and once; where
// there is none the file is whole. Ranging again reads the file anew.
func Records(path string, o *ReaderOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		d, err := OpenFile(path, o)
		if err != nil {
			yield(Record{Ordinal: -1, Offset: -1}, err)
			return
		}
		defer d.Close()
		for {
			_, err := d.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Record{Ordinal: -1, Offset: -1}, err)
				return
			}
			if !yield(d.Record(), nil) {
				return
			}
		}
	}
}

// Find reads a file until visit returns an error, and returns it with the
// record's place, or until the file itself is found faulty. Nil means that all
// is well: every record is whole and visit accepted each. It is how the
// offender is found after an error that names no record.
func Find(path string, o *ReaderOptions, visit func(Record) error) error {
	for rec, err := range Records(path, o) {
		if err != nil {
			return err
		}
		if err := visit(rec); err != nil {
			return At(err, path, rec)
		}
	}
	return nil
}

// At fills in the place of an error about a record: file, ordinal and offset,
// where err is a *millrace.Error that does not have them. Other errors are
// returned as they are.
func At(err error, path string, rec Record) error {
	e, ok := err.(*millrace.Error)
	if !ok {
		return err
	}
	c := *e
	if c.File == "" {
		c.File = path
	}
	if c.Record < 0 {
		c.Record, c.Offset = rec.Ordinal, rec.Offset
	}
	return &c
}
