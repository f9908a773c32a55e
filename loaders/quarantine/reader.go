package quarantine

import (
	"errors"
	"io"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/tfrecord"
)

// Reader reads the good records of a file, one after the other. Only one goroutine at
// a time may use it.
type Reader struct {
	*tfrecord.Reader                 // reader of the file
	Index            *tfrecord.Index // index of the file as it is, with a Layout
	FileNumber       int

	// Check returns the error of a record's data, without a place. If Check is nil all
	// data are good.
	Check func(data []byte) error

	// LeaveOut leaves a bad record out, or returns the error that ends reading. Nil: every
	// bad record ends reading. See [List.LeaveOut].
	LeaveOut func(e Entry, cause error) error

	ended bool // the rest of the file is left out
}

// Next returns the data of the next good record, which are valid until the next call,
// and io.EOF at the end. The record's place is that of [tfrecord.Reader.Record].
func (r *Reader) Next() ([]byte, error) {
	for {
		data, good, err := r.Read()
		if good || err != nil {
			return data, err
		}
	}
}

// Read reads one record. It returns the data of a good record, which are valid until
// the next call. For a bad record that was left out, good is false and the error nil.
// At the end the error is io.EOF.
func (r *Reader) Read() (data []byte, good bool, err error) {
	if r.ended {
		return nil, false, io.EOF
	}
	data, err = r.Reader.Next()
	if err == io.EOF {
		return nil, false, err
	}
	if err != nil {
		return nil, false, r.passOver(err)
	}
	good, err = r.CheckRecord(r.Record())
	return data, good, err
}

// CheckRecord reports whether a record that was read from the file is good; another reader
// may have read it. For a bad record that was left out the error is nil.
func (r *Reader) CheckRecord(record tfrecord.Record) (good bool, err error) {
	if r.Check == nil {
		return true, nil
	}
	err = tfrecord.At(r.Check(record.Data), r.Index.Path, record)
	if err == nil {
		return true, nil
	}
	return false, r.leave(r.entry(record), err)
}

// Ended reports whether the rest of the file was left out.
func (r *Reader) Ended() bool { return r.ended }

// SeekRecord is [tfrecord.Reader.SeekRecord].
func (r *Reader) SeekRecord(ordinal, offset int64) error {
	r.ended = false
	return r.Reader.SeekRecord(ordinal, offset)
}

// passOver makes reading continue after a record that cannot be read, or ends reading.
func (r *Reader) passOver(err error) error {
	if r.LeaveOut == nil {
		return err
	}
	if damaged, ok := r.SkipDamaged(); ok {
		return r.leave(r.entry(damaged), err)
	}
	if !tfrecord.Severed(err) {
		return err
	}
	ordinal, offset := r.Position()
	e := r.entry(tfrecord.Record{Ordinal: ordinal, Offset: offset})
	if next := ordinal + 1; errors.Is(err, tfrecord.ErrLengthChecksum) && r.knows(ordinal, offset) {
		e.Length = r.Index.Layout.Length(ordinal)
		if err := r.leave(e, err); err != nil {
			return err
		}
		return r.SeekRecord(next, offset+tfrecord.FrameBytes+e.Length)
	}
	e.Length, e.RestOfFile = r.Left(), true
	r.ended = true
	return r.leave(e, RestOf(err, e.Length))
}

// knows reports whether the index says where the record after another one begins.
func (r *Reader) knows(ordinal, offset int64) bool {
	x := r.Index
	return x.Layout != nil && x.Compression == tfrecord.None && ordinal < x.Records && x.Layout.Offset(ordinal) == offset
}

// RestOf adds to the error of a record that the rest of the file, the given number of
// bytes from the record on, is lost with it.
func RestOf(err error, bytes int64) error {
	var fault *millrace.Error
	if !errors.As(err, &fault) {
		return err
	}
	rest := *fault
	rest.Msg += "; nobody can tell where the next record begins, so the rest of the file is left out, " + figures.Plural(bytes, "byte", "bytes")
	return &rest
}

// leave leaves a record out.
func (r *Reader) leave(e Entry, cause error) error {
	if r.LeaveOut == nil {
		return cause
	}
	return r.LeaveOut(e, cause)
}

// entry returns the entry of a record.
func (r *Reader) entry(record tfrecord.Record) Entry {
	e := NewEntry(r.Index, r.FileNumber)
	e.Ordinal, e.Offset, e.Length = record.Ordinal, record.Offset, int64(len(record.Data))
	return e
}
