package tfrecord

import (
	"io"
	"iter"

	"millrace"
)

// Records reads a file from start to end. An error comes last and once; without one
// the file is complete. Ranging again reads the file again.
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

// Find calls visit for each record of a file until visit returns an error or the file
// turns out to be damaged. It returns that error with the record's location. It returns
// nil if every record is complete and visit accepted it. Use it to find the bad record
// after an error that does not name one.
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

// At adds the location of a record (file, ordinal and offset) to a *millrace.Error that
// has none. It returns other errors unchanged.
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
