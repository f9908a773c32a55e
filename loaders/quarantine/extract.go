package quarantine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"millrace"
	"millrace/tfrecord"
)

// # What a copy of a bad record is
//
// The question. A record may be bad because its header or a checksum is damaged:
//
//	| length | length CRC | data | data CRC |
//
// A file of such records, copied unchanged, could not be read: a reader stops at the
// first of them, and after a damaged header it does not find the next record.
//
// The answer. Extract copies the data unchanged, and gives them a new header and new
// checksums. So every reader of TFRecords can read the copy, and so the data that no
// reader accepts in the original file. The checksums then say that the data were copied
// well, and no longer that they are good. Where the start of the next record is not
// known, all bytes to the end of the file become one record of the copy, headers and
// checksums included.

// Extract writes the records that a ledger lists to w, as an uncompressed TFRecord
// file, and returns how many there are. They come sorted by file and offset, each once.
// It refuses a data file that has changed since its records were listed. After an error
// the output in w is of no use.
func Extract(w io.Writer, entries []Entry) (records int64, err error) {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	entries = slices.CompactFunc(entries, func(a, b Entry) bool { return a.File == b.File && a.Offset == b.Offset })
	out := tfrecord.NewWriter(w, tfrecord.None)
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].File == entries[0].File {
			n++
		}
		if err := extract(out, entries[:n]); err != nil {
			return 0, err
		}
		entries = entries[n:]
	}
	if err := out.Close(); err != nil {
		return 0, err
	}
	return out.Count(), nil
}

// extract writes the records of one file, which come in the order of the file.
func extract(out *tfrecord.Writer, entries []Entry) error {
	s, err := tfrecord.OpenStream(entries[0].File, tfrecord.Compression(entries[0].Compression))
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range entries {
		data, err := entries[i].data(s)
		if err != nil {
			return err
		}
		if err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// data returns the data of the record, which are valid until s is read again.
func (e *Entry) data(s *tfrecord.Stream) ([]byte, error) {
	if err := e.changedFile(s); err != nil {
		return nil, err
	}
	if e.Length > tfrecord.DefaultMaxRecordBytes {
		return nil, e.fault(millrace.ErrLimit, "%d bytes are more than a record may have (%d); remove the line from the ledger to extract the others",
			e.Length, int64(tfrecord.DefaultMaxRecordBytes))
	}
	if e.RestOfFile {
		return e.bytes(s, e.Length)
	}
	frame, err := e.bytes(s, e.Length+tfrecord.FrameBytes)
	if err != nil {
		return nil, err
	}
	// A damaged header has a wrong length. The ledger has the length from the index.
	if length := binary.LittleEndian.Uint64(frame); length != uint64(e.Length) && e.Class != string(millrace.ErrCorrupt) {
		return nil, e.changed("there is no record of %d bytes now", e.Length)
	}
	const header = 12 // length and its checksum
	return frame[header : header+e.Length], nil
}

// bytes returns n bytes from the record's header on.
func (e *Entry) bytes(s *tfrecord.Stream, n int64) ([]byte, error) {
	b, err := s.Bytes(e.Offset, n)
	if errors.Is(err, millrace.ErrTruncated) {
		return nil, e.changed("it ends before byte %d", e.Offset+n)
	}
	return b, err
}

// changedFile returns an error if the file is not the one that was read when the record
// was listed.
func (e *Entry) changedFile(s *tfrecord.Stream) error {
	info := s.Info()
	switch {
	case e.FileModified.IsZero():
		return nil // the entry does not identify the file
	case info.Size() != e.FileSize:
		return e.changed("it had %d bytes and has %d", e.FileSize, info.Size())
	case !info.ModTime().Equal(e.FileModified):
		return e.changed("it was modified %s", info.ModTime().Format("2006-01-02 15:04:05.000"))
	}
	return nil
}

// changed returns the error for a file that has changed.
func (e *Entry) changed(format string, args ...any) error {
	err := e.fault(millrace.ErrIO, format, args...)
	err.Msg = "the file has changed since the ledger names this record: " + err.Msg + "; remove the ledger, and read the data again for a new one"
	return err
}

// fault returns an error about the record.
func (e *Entry) fault(class millrace.Class, format string, args ...any) *millrace.Error {
	err := millrace.Errorf(class, format, args...)
	err.Op, err.File, err.Record, err.Offset = "extract", e.File, e.Ordinal, e.Offset
	return err
}
