package bytecheck

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"millrace"
)

// deflateRatio is the maximum number of bytes that one byte of a deflated stream may
// expand to: a match of 258 bytes takes two bits.
const deflateRatio = 1032

// compressed checks strings that DecodeCompressed decompresses. Strings that cannot
// reach the limit are not read, because reading them costs as much as decompressing.
func (s Spec) compressed(elements [][]byte) (int, error) {
	var most, made int64
	for _, b := range elements {
		most = saturate(uint64(most) + uint64(s.decompressed(b, false)))
	}
	if most <= s.limit() {
		return 0, nil
	}
	for i, b := range elements {
		if made = saturate(uint64(made) + uint64(s.decompressed(b, true))); made > s.limit() {
			return i, refused(millrace.ErrLimit, "%d bytes of %s: up to this element, they decompress to more than %d bytes", len(b), s.Compression, s.limit())
		}
	}
	return 0, nil
}

// decompressed returns the maximum size of a decompressed string. It reads the string
// to find the exact size.
func (s Spec) decompressed(b []byte, exact bool) int64 {
	switch {
	case s.Compression == "ZSTD":
		var h zstd.Header
		if h.Decode(b) != nil || !h.HasFCS {
			return 0 // TensorFlow refuses it
		}
		return saturate(h.FrameContentSize)
	case s.Compression == "":
		return 0
	case !exact:
		return product(int64(len(b)), deflateRatio)
	case s.Compression == "GZIP":
		return inflated(b, s.limit(), gzipHeader)
	}
	return inflated(b, s.limit(), zlibHeader)
}

// gzipTrailer is the length of a member's trailer: the checksum, and the size.
const gzipTrailer = 8

// inflated returns the maximum inflated size of a stream, or any number beyond the
// limit, at which it stops. header returns the bytes after the header of the stream. A
// gzip stream may have several members. Bytes that Go cannot inflate count with the
// maximum ratio of zlib.
func inflated(b []byte, limit int64, header func([]byte) ([]byte, bool)) int64 {
	var n int64
	for len(b) > 0 && n <= limit {
		body, more := header(b)
		if body == nil {
			break
		}
		r := bytes.NewReader(body) // a ByteReader, so that flate does not read ahead
		size, err := io.CopyN(io.Discard, flate.NewReader(r), saturate(uint64(limit-n)+1))
		n = saturate(uint64(n) + uint64(size))
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return saturate(uint64(n) + uint64(product(int64(r.Len())+1, deflateRatio)))
		}
		if !more {
			break
		}
		b = skip(body[len(body)-r.Len():], gzipTrailer)
	}
	return n
}

// zlibHeader returns the bytes after the header of a zlib stream, which has one member.
func zlibHeader(b []byte) (body []byte, more bool) {
	const dictionary = 0x20
	if len(b) < 2 || b[1]&dictionary != 0 {
		return nil, false
	}
	return b[2:], false
}

// Flags of a gzip header: the parts that follow its 10 bytes.
const (
	gzipCRC     = 1 << 1
	gzipExtra   = 1 << 2
	gzipName    = 1 << 3
	gzipComment = 1 << 4
)

// gzipHeader returns the bytes after the header of a gzip member.
func gzipHeader(b []byte) (body []byte, more bool) {
	if len(b) < 10 || b[0] != 0x1f || b[1] != 0x8b {
		return nil, false
	}
	flags, b := b[3], b[10:]
	if flags&gzipExtra != 0 {
		if len(b) < 2 {
			return nil, false
		}
		b = skip(b, 2+int(binary.LittleEndian.Uint16(b)))
	}
	for _, text := range []byte{gzipName, gzipComment} {
		if flags&text != 0 {
			_, b, _ = bytes.Cut(b, []byte{0})
		}
	}
	if flags&gzipCRC != 0 {
		b = skip(b, 2)
	}
	return b, true
}
