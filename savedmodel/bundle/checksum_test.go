package bundle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/dtype"
)

// crcOf returns the unmasked checksum of bytes.
func crcOf(b ...byte) uint32 { return crc32.Checksum(b, castagnoli) }

// stringsOf makes the bytes of a tensor of strings, and its checksum: lengths, a
// checksum of the lengths as numbers of 4 bytes, the strings.
func stringsOf(values ...string) (data []byte, crc uint32) {
	var numbers []byte
	for _, v := range values {
		data = binary.AppendUvarint(data, uint64(len(v)))
		numbers = binary.LittleEndian.AppendUint32(numbers, uint32(len(v)))
	}
	inner := binary.LittleEndian.AppendUint32(nil, maskCRC(crcOf(numbers...)))
	data = append(append(data, inner...), strings.Join(values, "")...)
	return data, maskCRC(crcOf(append(append(numbers, inner...), strings.Join(values, "")...)...))
}

// A tensor of strings is whole if its lengths, their checksum and the bytes fill
// it exactly.
func TestStringsChecksum(t *testing.T) {
	whole, crc := stringsOf("one", "", "three")
	none, crcOfNone := stringsOf()
	change := func(b []byte, at int, to ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], to)
		return b
	}
	wrongLength, _ := stringsOf("one", "", "three")
	for _, tt := range []struct {
		name string
		n    int64
		data []byte
		crc  uint32
		ok   bool
	}{
		{"whole", 3, whole, crc, true},
		{"no strings", 0, none, crcOfNone, true},
		{"a byte more", 3, append(bytes.Clone(whole), 0), crc, false},
		{"a byte less", 3, whole[:len(whole)-1], crc, false},
		{"a string more", 4, whole, crc, false},
		{"a string less", 2, whole, crc, false},
		{"another checksum", 3, whole, crc + 1, false},
		{"a length of more than there is", 3, change(wrongLength, 2, 100), crc, false},
		{"lengths of more than there is", 3, change(wrongLength, 1, 8), crc, false},
		{"cut in the lengths", 3, whole[:2], crc, false},
		{"cut in the checksum of the lengths", 3, whole[:5], crc, false},
		{"no room for a checksum of the lengths", 1, []byte("\x03abc"), maskCRC(crcOf([]byte("\x03\x00\x00\x00abc")...)), false},
		{"another checksum of the lengths", 3, change(whole, 3, whole[3]+1), crc, false},
	} {
		e := Entry{offset: 2, crc: tt.crc}
		e.Name, e.DType, e.Shape, e.Bytes = "words", dtype.String, dtype.MakeShape(tt.n), int64(len(tt.data))
		err := checkSum(bytes.NewReader(append([]byte("__"), tt.data...)), "FILE", e)
		if tt.ok && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var m *millrace.Error
		if !tt.ok && (!errors.As(err, &m) || !errors.Is(err, millrace.ErrCorrupt) || m.File != "FILE" || m.Tensor != "words" || m.Offset != 2) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The length of a string is a varint. Its checksum is computed over 4 bytes, or over 8.
func TestLengthsOfStrings(t *testing.T) {
	varint := func(v uint64) []byte { return binary.AppendUvarint(nil, v) }
	wide := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for _, tt := range []struct {
		name    string
		in      []byte
		wide    bool
		want    int64
		summed  []byte
		ok      bool
		notRead int
	}{
		{"one byte", []byte{5, 9}, false, 5, wide(5)[:4], true, 1},
		{"two bytes", varint(300), false, 300, wide(300)[:4], true, 0},
		{"the longest of 4 bytes", varint(math.MaxUint32), false, math.MaxUint32, wide(math.MaxUint32)[:4], true, 0},
		{"one more", varint(math.MaxUint32 + 1), false, math.MaxUint32 + 1, wide(math.MaxUint32 + 1), true, 0},
		{"wide", varint(5), true, 5, wide(5), true, 0},
		{"the longest", varint(math.MaxInt64), false, math.MaxInt64, wide(math.MaxInt64), true, 0},
		{"too long", varint(math.MaxInt64 + 1), false, 0, nil, false, 0},
		{"too many bytes", append(bytes.Repeat([]byte{0x80}, 10), 0), false, 0, nil, false, 1},
		{"cut", []byte{0x80}, false, 0, nil, false, 0},
	} {
		s := &summer{in: bufio.NewReader(bytes.NewReader(tt.in)), left: int64(len(tt.in))}
		got, ok := s.length(tt.wide)
		if ok != tt.ok || ok && (got != tt.want || s.sum != crcOf(tt.summed...)) || s.left != int64(tt.notRead) || s.err != nil {
			t.Errorf("%s: %d, %v, with %d bytes left, %v", tt.name, got, ok, s.left, s.err)
		}
	}
}

// A read error does not count as damage.
func TestUnreadableTensors(t *testing.T) {
	whole, crc := stringsOf("one", "two")
	for n := range whole {
		e := Entry{crc: crc}
		e.DType, e.Shape, e.Bytes = dtype.String, dtype.MakeShape(2), int64(len(whole))
		if err := checkSum(failsAt{bytes.NewReader(whole), int64(n)}, "FILE", e); !errors.Is(err, millrace.ErrIO) || !errors.Is(err, errDisk) {
			t.Errorf("at byte %d: %v", n, err)
		}
	}
	e := Entry{}
	e.DType, e.Shape, e.Bytes = dtype.Variant, dtype.MakeShape(1), 10
	if err := checkSum(failsAt{bytes.NewReader(make([]byte, 10)), 0}, "FILE", e); !errors.Is(err, millrace.ErrIO) {
		t.Errorf("a variant: %v", err)
	}
}

var errDisk = errors.New("the disk is broken")

// failsAt is a reader that fails at an offset.
type failsAt struct {
	io.ReaderAt
	end int64
}

func (f failsAt) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) <= f.end {
		return f.ReaderAt.ReadAt(b, at)
	}
	n, _ := f.ReaderAt.ReadAt(b[:max(0, f.end-at)], at)
	return n, errDisk
}

// The checksum of a tensor does not depend on whether it fits the read buffer.
func TestChecksumOfMuch(t *testing.T) {
	for _, n := range []int{checksumBuffer - 1, checksumBuffer, checksumBuffer + 1, 2*checksumBuffer + 3} {
		data := bytes.Repeat([]byte("millrace"), n/8+1)[:n]
		e := Entry{crc: maskCRC(crcOf(data...))}
		e.DType, e.Shape, e.Bytes = dtype.Uint8, dtype.MakeShape(int64(n)), int64(n)
		if err := checkSum(bytes.NewReader(data), "FILE", e); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
