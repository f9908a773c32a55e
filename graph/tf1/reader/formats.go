package reader

import (
	"millrace"
	"millrace/graph"
)

// TextLineOptions are the options of [NewTextLine]. Nil and the zero value mean the
// defaults.
type TextLineOptions struct {
	Options
	SkipHeaderLines int // lines to skip at the start of each file
}

// NewTextLine adds a reader of text files. A value is a line without its end, a key is
// "file:number" with the line's number from 1. Every "\r" of a line is removed. The
// last line may lack its line end. The length of a line is unlimited.
//
// It wraps TextLineReaderV2.
func NewTextLine(s *graph.Scope, o *TextLineOptions) *Reader {
	if o == nil {
		o = &TextLineOptions{}
	}
	var err error
	if o.SkipHeaderLines < 0 {
		err = millrace.Errorf(millrace.ErrModel, "SkipHeaderLines is %d, must not be negative", o.SkipHeaderLines)
	}
	return newReader(s, "TextLineReaderV2", map[string]any{"skip_header_lines": int64(o.SkipHeaderLines)}, &o.Options, err)
}

// FixedLengthRecordOptions are the options of [NewFixedLengthRecord]. Nil and the
// zero value mean the defaults.
type FixedLengthRecordOptions struct {
	Options
	HeaderBytes int64  // bytes to skip at the start of each file
	FooterBytes int64  // bytes to skip at the end of each file
	HopBytes    int64  // from the start of a record to the start of the next; 0: RecordBytes
	Encoding    string // compression of all files: "GZIP", "ZLIB", or "" for none
}

// maxLength is the longest record, header, footer or hop.
const maxLength = 1 << 30

// NewFixedLengthRecord adds a reader of files whose records have recordBytes bytes
// each. A value is a record, a key is "file:number" with the record's number from 0.
// TensorFlow skips an incomplete record at the end of a file; compare
// [Reader.NumRecordsProduced] with the expected number.
//
// It wraps FixedLengthRecordReaderV2.
func NewFixedLengthRecord(s *graph.Scope, recordBytes int64, o *FixedLengthRecordOptions) *Reader {
	if o == nil {
		o = &FixedLengthRecordOptions{}
	}
	err := checkCompression("Encoding", o.Encoding)
	for _, l := range []struct {
		name         string
		value, least int64
	}{{"RecordBytes", recordBytes, 1}, {"HeaderBytes", o.HeaderBytes, 0}, {"FooterBytes", o.FooterBytes, 0}, {"HopBytes", o.HopBytes, 0}} {
		if err == nil && (l.value < l.least || l.value > maxLength) {
			err = millrace.Errorf(millrace.ErrModel, "%s is %d, must be from %d to %d", l.name, l.value, l.least, maxLength)
		}
	}
	return newReader(s, "FixedLengthRecordReaderV2", map[string]any{
		"record_bytes": recordBytes, "header_bytes": o.HeaderBytes, "footer_bytes": o.FooterBytes,
		"hop_bytes": o.HopBytes, "encoding": o.Encoding,
	}, &o.Options, err)
}

// NewWholeFile adds a reader whose records are whole files. A value is the content of a
// file, a key is its name. The size of a file is unlimited.
//
// It wraps WholeFileReaderV2.
func NewWholeFile(s *graph.Scope, o *Options) *Reader {
	return newReader(s, "WholeFileReaderV2", map[string]any{}, o, nil)
}

// NewIdentity adds a reader that opens no files: key and value are the element of
// the queue.
//
// It wraps IdentityReaderV2.
func NewIdentity(s *graph.Scope, o *Options) *Reader {
	return newReader(s, "IdentityReaderV2", map[string]any{}, o, nil)
}

// checkCompression refuses unknown names, which TensorFlow would treat as no
// compression.
func checkCompression(option, name string) error {
	switch name {
	case "", "GZIP", "ZLIB":
		return nil
	}
	return millrace.Errorf(millrace.ErrModel, `%s is %q, must be "", "GZIP" or "ZLIB"`, option, name)
}
