package bytecheck

import (
	"cmp"
	_ "embed"
	"strings"

	"millrace"
	"millrace/dtype"
)

// DefaultLimit is the default limit of the bytes that an operation may decode its input
// to, beyond a one-to-one copy: an image of 89 million pixels.
const DefaultLimit = 1 << 28

// Spec describes an operation that reads bytes.
type Spec struct {
	Op    string         // its type
	DType dtype.DataType // data type of its result; 0: unknown
	Limit int64          // 0: DefaultLimit

	Compression string // "", "ZLIB", "GZIP" or "ZSTD"
	Channels    int64  // requested for an image (0: as in the file) or a sound (-1)
	Samples     int64  // requested for a sound; -1: as in the file
	First       bool   // only the first frame of an image becomes part of the tensor
	Ratio       int64  // factor by which a JPEG is scaled down
}

// limit returns the limit in force.
func (s Spec) limit() int64 { return cmp.Or(s.Limit, DefaultLimit) }

// invalidArgument is TensorFlow's code.
const invalidArgument = 3

// refused returns the error about refused bytes.
func refused(class millrace.Class, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.Code = invalidArgument
	return e
}

// growth is the maximum number of tensor bytes per byte of a TensorProto that contains
// all values: an int64 is a varint of one byte or more.
const growth = 8

// Rows returns an error if rows of a size need more memory than both the limit and the
// maximum growth of the bytes that they are parsed from.
func Rows(rows, size, bytes, limit int64) error {
	made := product(rows, size)
	if made <= max(cmp.Or(limit, DefaultLimit), product(growth, bytes)) {
		return nil
	}
	return refused(millrace.ErrLimit, "%d Examples of %d bytes take %d bytes, most of them for default values", rows, bytes, made)
}

//go:embed operations.txt
var operations string

// Bounds returns the rows of operations.txt: for each operation that decodes strings,
// the bound of its memory.
func Bounds() map[string]string {
	bounds := map[string]string{}
	for line := range strings.Lines(operations) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) == 2 {
			bounds[f[0]] = f[1]
		}
	}
	return bounds
}
