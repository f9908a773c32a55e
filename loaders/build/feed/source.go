package feed

import (
	"context"
	"encoding/binary"

	"millrace/loaders/engine"
	"millrace/loaders/quarantine"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// # How Go feeds records to TensorFlow
//
// The question. Some records end the process in TensorFlow's parsers, and some record
// headers in its reader. Millrace's own operations survive them. Without their library
// TensorFlow must parse, so the bytes have to be checked first. A look at the files
// before the first batch is not enough: a file may be overwritten between that look and
// TensorFlow's read. A private copy of the files would solve this, but takes as much
// disk space as the data.
//
// The answer. TensorFlow opens no data file. Go reads each record once, checks
// its length and checksums, checks it with [check.Checker], and hands over the bytes
// that it checked:
//
//	file ── tfrecord.Reader ── check.Checker ── copy in a tensor ── ParseExampleV2
//
//	Range ── Scan(call of Go) ── TakeWhile(not empty) ── Unbatch ── records
//
//  1. Each call of Go returns a vector of records, as many as fit the config's
//     read buffer, and an empty vector at the end of the file.
//  2. The state of the scan is a token, by which a call finds the open file, and
//     the number of records read. When the iterator goes, the token goes,
//     and the file is closed.
//  3. A restored state has no token, only the number. The file is opened again
//     and so many records are skipped.
//
// A refused record fails its call, but only after the records before it were delivered.
// The error has the record's location.
//
// Where Millrace's own operations decode the records and Go has to check them first
// ([engine.Choice.ChecksRecords]), they come the same way, and carry their locations.

// Source is where records come from. What it returns may be called by many iterators at
// the same time.
type Source struct {
	Files       []spec.DataFile
	Compression tfrecord.Compression
	BufferBytes int64      // size of the read buffer of a file
	Epochs      int64      // 0: without end
	Spec        *spec.Spec // the config, which determines the order of the records
	Engine      engine.Choice
	Scan        *scan.Scan

	Skipped *quarantine.List      // takes bad records; nil: the first one is an error
	Passed  *quarantine.Positions // positions of the skipped records, where the plan seeks

	// Steps returns an error for a record that a processing step cannot be carried out on. Nil
	// accepts all records.
	Steps func(record []byte) error

	Draws   bool // processing steps draw random numbers
	Located bool // records carry their locations even where TensorFlow parses them
}

// strict returns the same source, with the first bad record an error.
func (s *Source) strict() *Source {
	c := *s
	c.Skipped, c.Passed = nil, nil
	return &c
}

// check returns the check of the data of records, nil if all are good. Only one goroutine at a time
// may call it.
func (s *Source) check() func(record []byte) error {
	whole := check.New(s.Engine)
	if s.Steps == nil {
		return whole
	}
	return func(record []byte) error {
		if whole != nil {
			if err := whole(record); err != nil {
				return err
			}
		}
		return s.Steps(record)
	}
}

// callBytes returns the approximate size of the records of a call.
func (s *Source) callBytes() int64 { return min(s.BufferBytes, maxFeedBytes) }

// newReader returns a reader of the good records of a file, from d. A nil d reads nothing.
func (s *Source) newReader(d *tfrecord.Reader, file int) *quarantine.Reader {
	r := &quarantine.Reader{Reader: d, Index: s.Scan.Indexes[file], FileNumber: file, Check: s.check()}
	if s.Skipped != nil {
		r.LeaveOut = s.Skipped.LeaveOut
	}
	return r
}

// placed reports whether records carry their locations: our own operations report them, and
// random numbers follow from them.
func (s *Source) placed() bool {
	return s.Engine.Own || s.Located
}

// Func hands records to TensorFlow. Each call returns a vector of records, empty at the
// end, and the state for the next call: a token, by which it finds the open files, and
// a number. A call with another token opens the files.
type Func = func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error)

// maxFeedBytes bounds the records of one call: more bring no gain, and each open file
// keeps them in memory.
const maxFeedBytes = 1 << 20

// LocationBytes is the size of a record's location after its data: the number of the
// file, the record's ordinal in it and its offset, int64 each. See
// cgo/datasets/placed_record.h.
const LocationBytes = 24

// located is a location with the offset of the record in its file.
type located struct {
	tfrecord.Location
	offset int64
}

// numbers returns the numbers that TensorFlow gets.
func (l located) numbers() [3]int64 { return [3]int64{int64(l.File), l.Record, l.offset} }

// appendTo appends the location to the data of a record.
func (l located) appendTo(data []byte) []byte {
	for _, n := range l.numbers() {
		data = binary.NativeEndian.AppendUint64(data, uint64(n))
	}
	return data
}
