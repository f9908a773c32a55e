package bundle

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"millrace/dtype"
	"millrace/savedmodel/modelfile"
)

// checksumBuffer is the number of bytes that each reader of a data file reads at a
// time.
const checksumBuffer = 1 << 18

// checkSums compares the checksum of each tensor in a data file, several at a
// time. The error is about the first tensor of the file with a wrong one.
func checkSums(f io.ReaderAt, name string, entries []Entry) error {
	errs := make([]error, len(entries))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		group.Go(func() error {
			errs[i] = checkSum(f, name, e)
			return nil
		})
	}
	_ = group.Wait() // errs has the errors, in the order of the file
	return cmp.Or(errs...)
}

// checkSum compares the checksum of one tensor.
func checkSum(f io.ReaderAt, name string, e Entry) error {
	s := &summer{section: io.NewSectionReader(f, e.offset, e.Bytes), left: e.Bytes}
	n, _ := dtype.Elements(e.Shape.Dims()) // parseEntry has checked it
	var ok bool
	switch e.DType.Base() {
	case dtype.String:
		ok = s.strings(n)
	case dtype.Variant:
		ok = s.variants(n)
	default:
		ok = s.bytes(e.Bytes)
	}
	if s.err != nil {
		return modelfile.FailIO(name, s.err)
	}
	if !ok || s.left != 0 || maskCRC(s.sum) != e.crc {
		err := modelfile.CorruptAt(name, e.offset, "the checksum of the variable's %d bytes does not match", e.Bytes)
		err.Tensor = e.Name
		return err
	}
	return nil
}

// summer computes the checksum of a tensor. Its methods report false if the bytes
// are malformed.
type summer struct {
	section *io.SectionReader
	in      *bufio.Reader // buffered reader of section, for small reads
	left    int64         // bytes of the tensor not read yet
	sum     uint32
	err     error // error of reading
}

// bytes adds the next n bytes.
func (s *summer) bytes(n int64) bool {
	if n > s.left {
		return false
	}
	s.left -= n
	in := io.Reader(s.section)
	if s.in != nil {
		in = s.in
	}
	buffer := make([]byte, min(n, checksumBuffer))
	for n > 0 && s.err == nil {
		part := buffer[:min(n, int64(len(buffer)))]
		_, s.err = io.ReadFull(in, part)
		s.sum = crc32.Update(s.sum, castagnoli, part)
		n -= int64(len(part))
	}
	return s.err == nil
}

// length reads a length, which is written as a varint. The checksum covers it as a
// number of 4 bytes, or of 8 if it needs them or wide is set.
func (s *summer) length(wide bool) (int64, bool) {
	var v uint64
	for shift := 0; ; shift += 7 {
		if s.left == 0 || shift > 63 {
			return 0, false
		}
		c, err := s.in.ReadByte()
		if err != nil {
			s.err = err
			return 0, false
		}
		s.left--
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	number := binary.LittleEndian.AppendUint64(nil, v)
	if !wide && v <= math.MaxUint32 {
		number = number[:4]
	}
	s.sum = crc32.Update(s.sum, castagnoli, number)
	return int64(v), v <= math.MaxInt64
}

// inner reads the checksum of the bytes added so far, and adds it.
func (s *summer) inner() bool {
	want := maskCRC(s.sum)
	var b [4]byte
	if s.left < int64(len(b)) {
		return false
	}
	s.left -= int64(len(b))
	_, s.err = io.ReadFull(s.in, b[:])
	s.sum = crc32.Update(s.sum, castagnoli, b[:])
	return s.err == nil && binary.LittleEndian.Uint32(b[:]) == want
}

// strings adds a tensor of n strings: their lengths, a checksum, their bytes.
func (s *summer) strings(n int64) bool {
	s.in = bufio.NewReader(s.section)
	total := int64(0)
	for range n {
		size, ok := s.length(false)
		if !ok || size > s.left-total {
			return false
		}
		total += size
	}
	return s.inner() && s.bytes(total)
}

// variants adds a tensor of n variants: for each its length, its bytes and a
// checksum.
func (s *summer) variants(n int64) bool {
	s.in = bufio.NewReader(s.section)
	for range n {
		size, ok := s.length(true)
		if !ok || !s.bytes(size) || !s.inner() {
			return false
		}
	}
	return true
}
