package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"

	"millrace"
)

// inflater decompresses a gzip stream of one or more members, or a zlib stream. A
// library decompresses the deflate data. The inflater reads headers and trailers
// itself, for two reasons. An error must describe the fault exactly: missing, damaged
// or surplus bytes. And the library refuses gzip headers with long names, which
// TensorFlow reads.
type inflater struct {
	kind    Compression
	in      *bufio.Reader
	flate   io.ReadCloser // nil before the first member
	sum     hash.Hash32   // checksum of the member's data: CRC-32 or Adler-32
	size    uint32        // size of the member's data, modulo 2^32
	open    bool          // inside a member
	empty   bool          // the member has returned no data so far
	members int64
	err     error
}

// streamError is an error in a compressed stream. The reader adds the location.
type streamError struct {
	class millrace.Class
	msg   string
}

func (e *streamError) Error() string { return e.msg }

func corruptStream(format string, args ...any) error {
	return &streamError{millrace.ErrCorrupt, fmt.Sprintf(format, args...)}
}

// cutStream is the error of a stream that ends early. The reader makes the message,
// because it knows the last complete record.
type cutStream struct{ where string }

func (e *cutStream) Error() string { return "stream ends early" }

func newInflater(r io.Reader, kind Compression) *inflater {
	z := &inflater{kind: kind, in: bufio.NewReaderSize(r, 64<<10)}
	if kind == GZIP {
		z.sum = crc32.NewIEEE()
	} else {
		z.sum = adler32.New()
	}
	return z
}

// Read returns decompressed bytes. It returns io.EOF only after a correct trailer at
// the end of the input, or for an empty input, which TensorFlow treats as a stream
// without records.
func (z *inflater) Read(p []byte) (int, error) {
	for z.err == nil {
		if !z.open {
			z.err = z.begin()
			continue
		}
		n, err := z.flate.Read(p)
		z.sum.Write(p[:n])
		z.size += uint32(n)
		z.empty = z.empty && n == 0
		if err == io.EOF {
			z.open = false
			err = z.trailer()
		}
		z.err = z.explain(err)
		if n > 0 {
			return n, nil
		}
	}
	return 0, z.err
}

// explain adds a class to an error of the deflate library.
func (z *inflater) explain(err error) error {
	var bad flate.CorruptInputError
	var bug flate.InternalError
	switch {
	case err == io.ErrUnexpectedEOF:
		return &cutStream{}
	case errors.As(err, &bad), errors.As(err, &bug):
		return corruptStream("damaged %s stream: %s", z.kind, err)
	}
	return err
}

// begin reads a member's header, or finds the end of the input.
func (z *inflater) begin() error {
	if _, err := z.in.Peek(1); err != nil {
		return err // io.EOF here is the end
	}
	header := z.gzipHeader
	if z.kind == ZLIB {
		header = z.zlibHeader
	}
	if err := header(); err != nil {
		return err
	}
	if z.members > 0 && z.empty {
		return corruptStream("gzip member %d is empty and others follow it: TensorFlow would take it for the end of the file", z.members-1)
	}
	if z.flate == nil {
		z.flate = flate.NewReader(z.in)
	} else if err := z.flate.(flate.Resetter).Reset(z.in, nil); err != nil {
		return err
	}
	z.sum.Reset()
	z.size = 0
	z.open, z.empty = true, true
	z.members++
	return nil
}

// foreign is the fault of an input that lacks a header of the declared kind.
func (z *inflater) foreign() error {
	prefix, _ := z.in.Peek(sniffLen)
	if z.members > 0 {
		return corruptStream("bytes after the end of the %s stream (first bytes %s)", z.kind, firstBytes(prefix))
	}
	guess, _ := otherwiseCompressed(sniff(prefix), z.kind)
	if guess != "" {
		guess = ": the file " + guess
	}
	return corruptStream("not %s (first bytes %s)%s", z.kind, firstBytes(prefix), guess)
}

// zlibHeader reads the header of a zlib stream. Only one stream may be in a
// file: TensorFlow does not read a second one.
func (z *inflater) zlibHeader() error {
	if z.members > 0 {
		return z.foreign()
	}
	b, err := z.in.Peek(2)
	if err != nil && err != io.EOF {
		return err
	}
	if len(b) < 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 {
		return &cutStream{fmt.Sprintf("%d of 2 header bytes", len(b))}
	}
	if !isZlib(b) {
		return z.foreign()
	}
	if b[1]&0x20 != 0 {
		return corruptStream("the zlib stream asks for a preset dictionary, which TensorFlow does not have")
	}
	z.in.Discard(2)
	return nil
}

// Flags of a gzip header.
const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
	gzipReserved  = 0xe0
)

// gzipHeader reads the header of a gzip member.
func (z *inflater) gzipHeader() error {
	const fixed = 10
	b, err := z.in.Peek(fixed)
	if err != nil && err != io.EOF {
		return err
	}
	if n := min(len(b), 3); string(b[:n]) != "\x1f\x8b\x08"[:n] {
		return z.foreign()
	}
	if len(b) < fixed {
		return &cutStream{fmt.Sprintf("%d of %d header bytes", len(b), fixed)}
	}
	flags := b[3]
	if flags&gzipReserved != 0 {
		return corruptStream("damaged gzip header: reserved flags %#02x", flags&gzipReserved)
	}
	h := &gzipFields{in: z.in}
	h.take(fixed)
	if flags&gzipExtra != 0 {
		h.take(int(h.take16()))
	}
	if flags&gzipName != 0 {
		h.takeString()
	}
	if flags&gzipComment != 0 {
		h.takeString()
	}
	if want := uint16(h.crc); flags&gzipHeaderCRC != 0 && h.take16() != want && h.err == nil {
		return corruptStream("damaged gzip header: header checksum")
	}
	if h.err == io.EOF {
		return &cutStream{"inside a gzip header"}
	}
	return h.err
}

// trailer reads and checks the trailer of a member.
func (z *inflater) trailer() error {
	want := 4
	if z.kind == GZIP {
		want = 8
	}
	b, err := z.in.Peek(want)
	if err == io.EOF {
		return &cutStream{fmt.Sprintf("%d of %d trailer bytes", len(b), want)}
	}
	if err != nil {
		return err
	}
	defer z.in.Discard(want)
	if z.kind == ZLIB {
		if stored, sum := binary.BigEndian.Uint32(b), z.sum.Sum32(); stored != sum {
			return corruptStream("zlib trailer: Adler-32 is %08x, that of the data %08x", stored, sum)
		}
		return nil
	}
	if stored, sum := binary.LittleEndian.Uint32(b), z.sum.Sum32(); stored != sum {
		return corruptStream("gzip trailer: CRC-32 is %08x, that of the data %08x", stored, sum)
	}
	if stored := binary.LittleEndian.Uint32(b[4:]); stored != z.size {
		return corruptStream("gzip trailer: size is %d, that of the data %d", stored, z.size)
	}
	return nil
}

// gzipFields reads the variable part of a gzip header; its first error sticks.
type gzipFields struct {
	in  *bufio.Reader
	crc uint32
	err error
}

func (h *gzipFields) byte() byte {
	if h.err != nil {
		return 0
	}
	var c byte
	if c, h.err = h.in.ReadByte(); h.err == nil {
		h.crc = crc32.Update(h.crc, crc32.IEEETable, []byte{c})
	}
	return c
}

func (h *gzipFields) take16() uint16 {
	low := h.byte()
	return uint16(low) | uint16(h.byte())<<8
}

func (h *gzipFields) take(n int) {
	for ; n > 0 && h.err == nil; n-- {
		h.byte()
	}
}

func (h *gzipFields) takeString() {
	for h.byte() != 0 && h.err == nil {
	}
}
