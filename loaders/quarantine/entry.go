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
	File    string `json:"file"`    // in a ledger absolute
	Ordinal int64  `json:"ordinal"` // in the file, from 0
	Offset  int64  `json:"offset"`  // of the record's header, decompressed

	// Length is how many bytes of data the record has. If nobody could read on behind
	// its header, it is how many bytes follow from Offset on: see RestOfFile.
	Length  int64  `json:"length"`
	Feature string `json:"feature"` // "": the record as a whole is bad
	Class   string `json:"class"`   // "schema", "corrupt data" or "truncated", as in package millrace
	Reason  string `json:"reason"`

	RestOfFile  bool   `json:"rest_of_file,omitempty"` // the records behind this one, if any, are left out as well
	Compression string `json:"compression,omitempty"`  // "gzip" or "zlib"

	// FileSize and FileModified say which file it was, whatever has its name now.
	FileSize     int64     `json:"file_size,omitempty"` // in bytes
	FileModified time.Time `json:"file_modified,omitzero"`

	// FileNumber is the file's place in the list of the loader's files.
	FileNumber int `json:"-"`
}

// NewEntry returns the entry of a record of a file, for the caller to say which one it is.
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

// describe sets what an error says about the record.
func (e *Entry) describe(err error) {
	var fault *millrace.Error
	if !errors.As(err, &fault) {
		e.Reason = err.Error()
		return
	}
	e.Class, e.Feature, e.Reason = string(fault.Class), fault.Feature, fault.Msg
}
