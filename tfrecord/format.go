package tfrecord

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Sizes of the parts of a record.
const (
	lengthSize = 8
	crcSize    = 4
	headerSize = lengthSize + crcSize
	frameSize  = headerSize + crcSize // a record's bytes in addition to its data
)

// FrameBytes is the number of bytes that a record takes in a file in addition to its
// data.
const FrameBytes = frameSize

// DefaultMaxRecordBytes is the default limit for the size of a record.
const DefaultMaxRecordBytes = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskDelta is added to a rotated CRC. The format masks CRCs because the CRC of data
// that includes its CRC is a constant.
const maskDelta = 0xa282ead8

// maskedCRC returns the masked CRC of b.
func maskedCRC(b []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(b, castagnoli), -15) + maskDelta
}

// putHeader writes the header of a record of n bytes.
func putHeader(h *[headerSize]byte, n int) {
	binary.LittleEndian.PutUint64(h[:lengthSize], uint64(n))
	binary.LittleEndian.PutUint32(h[lengthSize:], maskedCRC(h[:lengthSize]))
}

// parseHeader returns the length in a header, and whether its CRC is correct. h has
// at least headerSize bytes.
func parseHeader(h []byte) (n uint64, ok bool) {
	n = binary.LittleEndian.Uint64(h)
	return n, binary.LittleEndian.Uint32(h[lengthSize:]) == maskedCRC(h[:lengthSize])
}

// sizeText formats a number of bytes, in MiB or KiB if it is a whole number of them.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
