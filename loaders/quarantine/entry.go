package quarantine

import (
	"errors"
	"time"

	"millrace"
	"millrace/tfrecord"
)

// Entry is a record that was left out: a line of a [Ledger]. Its JSON keys stay as
// they are.
type Entry struct {
	File    string `json:"file"`    // absolute in a ledger
	Ordinal int64  `json:"ordinal"` // ordinal in the file, from 0
	Offset  int64  `json:"offset"`  // offset of the record's header in the decompressed file

	// Length is the size of the record's data in bytes. If reading could not continue
	// after the record's header, it is the number of bytes from Offset to the end: see
	// RestOfFile.
	Length  int64  `json:"length"`
	Feature string `json:"feature"` // "": the record as a whole is bad
	Class   string `json:"class"`   // "schema", "corrupt data" or "truncated", as in package millrace
	Reason  string `json:"reason"`

	RestOfFile  bool   `json:"rest_of_file,omitempty"` // the records after this one, if any, are left out as well
	Compression string `json:"compression,omitempty"`  // "gzip" or "zlib"

	// FileSize and FileModified identify the file that was read, even if another file
	// has its name now.
	FileSize     int64     `json:"file_size,omitempty"` // bytes
	FileModified time.Time `json:"file_modified,omitzero"`

	// FileNumber is the file's place in the list of the loader's files.
	FileNumber int `json:"-"`
}

// NewEntry returns an entry for a record of a file; the caller sets the record.
// fileNumber is the file's place in the list of the loader's files.
func NewEntry(x *tfrecord.Index, fileNumber int) Entry {
	e := Entry{File: x.Path, FileNumber: fileNumber, FileSize: x.Size, FileModified: x.ModTime.UTC()}
	if x.Compression != tfrecord.None {
		e.Compression = x.Compression.String()
	}
	return e
}

// place identifies a record in a ledger.
type place struct {
	file    string
	ordinal int64
}

// describe sets the fields that an error gives about the record.
func (e *Entry) describe(err error) {
	var fault *millrace.Error
	if !errors.As(err, &fault) {
		e.Reason = err.Error()
		return
	}
	e.Class, e.Feature, e.Reason = string(fault.Class), fault.Feature, fault.Msg
}
