package index

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"millrace/tfrecord"
)

// The parts of an index file; see the package comment.
const (
	magic       = "MRINDEX\x00"
	version     = 1
	fixedSize   = 80 // bytes before the lengths
	digestSize  = sha256.Size
	lengthSize  = 4
	recordFrame = 16 // bytes of a record in addition to its data
)

// compressions are the values of the compression field.
var compressions = []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB}

// contents are the contents of an index file.
type contents struct {
	compression tfrecord.Compression
	size        int64 // size of the data file
	modTime     time.Time
	members     int64
	digest      [digestSize]byte // digest of headers and data checksums
	layout      *tfrecord.Layout
}

// formatError is the reason why bytes are not an index file. other is true for a file
// of another version, which is not damaged.
type formatError struct {
	what  string
	other bool
}

func (e *formatError) Error() string { return e.what }

func malformed(format string, args ...any) error {
	return &formatError{what: fmt.Sprintf(format, args...)}
}

// contentsOf returns the contents of the index of a file that was scanned with a
// layout.
func contentsOf(x *tfrecord.Index) *contents {
	return &contents{
		compression: x.Compression, size: x.Size, modTime: x.ModTime, members: x.Members,
		digest: x.Digest, layout: x.Layout,
	}
}

// encode returns the bytes of an index file.
func (c *contents) encode() ([]byte, error) {
	le := binary.LittleEndian
	b := make([]byte, 0, fixedSize+lengthSize*c.layout.Records()+digestSize)
	b = append(b, magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, uint32(slices.Index(compressions, c.compression)))
	b = le.AppendUint64(b, uint64(c.size))
	b = le.AppendUint64(b, uint64(c.modTime.UnixNano()))
	b = le.AppendUint64(b, uint64(c.members))
	b = le.AppendUint64(b, uint64(c.layout.Records()))
	b = append(b, c.digest[:]...)
	b, err := c.layout.AppendBinary(b)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// decode reads the bytes of an index file. Its result is consistent.
func decode(b []byte) (*contents, error) {
	if len(b) < fixedSize+digestSize {
		return nil, malformed("%d bytes are too few", len(b))
	}
	if string(b[:len(magic)]) != magic {
		return nil, malformed("it does not begin as an index file does")
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[8:]); v != version {
		return nil, &formatError{what: fmt.Sprintf("it is of version %d, want %d", v, version), other: true}
	}
	body := b[:len(b)-digestSize]
	if sha256.Sum256(body) != [digestSize]byte(b[len(body):]) {
		return nil, malformed("its digest is wrong")
	}
	compression := le.Uint32(b[12:])
	if int64(compression) >= int64(len(compressions)) {
		return nil, malformed("the compression %d is unknown", compression)
	}
	c := &contents{
		compression: compressions[compression],
		size:        int64(le.Uint64(b[16:])),
		modTime:     time.Unix(0, int64(le.Uint64(b[24:]))),
		members:     int64(le.Uint64(b[32:])),
		digest:      [digestSize]byte(b[48:fixedSize]),
	}
	records := le.Uint64(b[40:])
	if lengths := body[fixedSize:]; records > math.MaxInt64/lengthSize || records*lengthSize != uint64(len(lengths)) {
		return nil, malformed("%d bytes of lengths are not those of %d records", len(lengths), records)
	}
	var err error
	if c.layout, err = tfrecord.ParseLayout(body[fixedSize:]); err != nil {
		return nil, malformed("%v", err)
	}
	return c, c.consistent()
}

// consistent returns an error if the numbers contradict each other.
func (c *contents) consistent() error {
	switch {
	case c.size < 0 || c.members < 0:
		return malformed("a size or a count is negative")
	case c.compression == tfrecord.None && c.members != 0:
		return malformed("a plain file has %d gzip members", c.members)
	case c.compression == tfrecord.None && c.layout.End() != c.size:
		return malformed("the records end at byte %d of a file of %d bytes", c.layout.End(), c.size)
	}
	return nil
}

// maxSize returns the maximum size of the index file of a data file. Deflate makes data
// at most 1,032 times smaller.
func maxSize(dataSize int64, compression tfrecord.Compression) int64 {
	records := dataSize / recordFrame
	if compression != tfrecord.None {
		records = dataSize / recordFrame * 1032
		if dataSize > math.MaxInt64/1032/lengthSize {
			records = math.MaxInt64 / 8
		}
	}
	return fixedSize + lengthSize*records + digestSize
}
