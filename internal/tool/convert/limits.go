package convert

import (
	"bytes"
	"unicode/utf8"

	"millrace"
	"millrace/tfrecord"
)

// # The memory of a conversion
//
// A file of a few hundred bytes can claim a row of any size: by a length in a header,
// by compression, or by many references to one long value. So each size is compared
// with a limit before memory of that size is allocated:
//
//	the text of a row        maxLine, while it is read
//	the values of a row      maxValueBytes, while they are added
//	a record                 maxRecord, before it is made
//	the records of a block   encodedBytes; the writer takes them, and the rest follows
//	blocks that are waiting  a budget, see inOrder
//	arrays of Arrow          maxArrowBytes, by an allocator
//
// Compare TestHostileFiles, which reads such files with little memory.
const (
	maxLine       = 64 << 20                       // maximum bytes of a row of text
	maxRecord     = tfrecord.DefaultMaxRecordBytes // limit of loaders
	maxValueBytes = 2 * maxRecord                  // memory of the values of one row and column
	encodedBytes  = 32 << 20                       // records that wait for the writer
	maxColumns    = 1 << 16                        // limit of a manifest
)

// The memory that a value takes in a list.
const (
	intSize    = 8
	floatSize  = 4
	stringSize = 32
)

// limitError is the error about a part of a row that is too large.
func limitError(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrLimit, format, args...)
}

// checkColumns returns an error for columns that a manifest cannot describe.
func checkColumns(path string, columns []Column) error {
	if len(columns) > maxColumns {
		return tooManyColumns(path)
	}
	for i := range columns {
		if name := columns[i].Name; !utf8.ValidString(name) {
			return dataError(path, "the name of column %d is not valid UTF-8: %s; a manifest is JSON, so rename the column", i+1, millrace.QuoteData([]byte(name)))
		}
	}
	return nil
}

func tooManyColumns(path string) error {
	e := dataError(path, "more than %d columns, which is what a manifest may have; make one column of those that belong together, as a list", maxColumns)
	e.(*millrace.Error).Class = millrace.ErrLimit
	return e
}

// byteOrderMark begins some files in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// textProblem returns the problem of a file whose text begins with the given bytes, ""
// if there is none.
func textProblem(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return "the text is UTF-32; make it UTF-8 first: iconv -f UTF-32 -t UTF-8"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "the text is UTF-16; make it UTF-8 first: iconv -f UTF-16 -t UTF-8"
	case len(head) > 3 && (head[0] == 0) != (head[1] == 0) && (head[2] == 0) != (head[3] == 0):
		return "the text has a zero in every other byte, as UTF-16 does; make it UTF-8 first: iconv -f UTF-16LE -t UTF-8"
	case bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(head, "\r"), '\r') >= 0 && bytes.IndexByte(head, '"') < 0,
		bytes.IndexByte(head, '\n') < 0 && bytes.Contains(head, []byte("}\r")):
		return `its lines end in carriage returns alone, as on the first Macs; make them line feeds: tr '\r' '\n'`
	}
	return ""
}

// lineError is the error about a line that is too long.
func lineError(path string, line int64, hint string) error {
	e := millrace.Errorf(millrace.ErrLimit, "line %d: the row has more than %d bytes%s", line, maxLine, hint)
	e.File = path
	return e
}

// checkRecord returns an error if a record of this size would be too large for loaders.
func checkRecord(size int64) error {
	if size > maxRecord {
		return limitError("the record would have more than %d bytes, the most that a loader reads; split the row", int64(maxRecord))
	}
	return nil
}
