package bytecheck

import (
	"cmp"

	"millrace"
	"millrace/dtype"
)

// DefaultLimit is how many bytes an operation may make of bytes, beyond those that
// they stand for one by one: an image of 89 million pixels.
const DefaultLimit = 1 << 28

// Spec describes an operation that reads bytes.
type Spec struct {
	Op    string         // its type
	DType dtype.DataType // of the tensor that it makes; 0: nobody knows
	Limit int64          // see DefaultLimit; 0: that

	Compression string // "", "ZLIB", "GZIP" or "ZSTD"
	Channels    int64  // wanted for an image (0: as in the file) or a sound (-1)
	Samples     int64  // wanted for a sound; -1: as in the file
	First       bool   // only the first frame of an image becomes part of the tensor
	Ratio       int64  // a JPEG is made smaller by it
}

// limit returns the limit in force.
func (s Spec) limit() int64 { return cmp.Or(s.Limit, DefaultLimit) }

// invalidArgument is TensorFlow's code.
const invalidArgument = 3

// refused returns why bytes are refused.
func refused(class millrace.Class, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.Code = invalidArgument
	return e
}

// growth is how many bytes of a tensor one byte of a TensorProto may stand for where
// the values are all there: an int64 is a varint of one byte or more.
const growth = 8

// Rows returns an error if rows of a size take more memory than the limit and than the
// bytes that they are parsed from can stand for.
func Rows(rows, size, bytes, limit int64) error {
	made := product(rows, size)
	if made <= max(cmp.Or(limit, DefaultLimit), product(growth, bytes)) {
		return nil
	}
	return refused(millrace.ErrLimit, "%d Examples of %d bytes take %d bytes, most of them for default values", rows, bytes, made)
}
