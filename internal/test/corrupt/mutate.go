// Package corrupt damages TFRecord files in known ways, for tests. The same
// call gives the same bytes.
//
// It has its own code for the record format and does not use package tfrecord,
// so that the two check each other.
package corrupt

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// Sizes of a record's header, and of header and footer.
const (
	HeaderSize = 12
	FrameSize  = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func mask(crc uint32) uint32 { return (crc>>15 | crc<<17) + 0xa282ead8 }

// Header returns the header of a record that claims n bytes, with the right
// checksum.
func Header(n uint64) []byte {
	h := binary.LittleEndian.AppendUint64(nil, n)
	return binary.LittleEndian.AppendUint32(h, mask(crc32.Checksum(h, castagnoli)))
}

// Frame returns records as a file.
func Frame(records ...[]byte) []byte {
	var b []byte
	for _, r := range records {
		b = append(b, Header(uint64(len(r)))...)
		b = append(b, r...)
		b = binary.LittleEndian.AppendUint32(b, mask(crc32.Checksum(r, castagnoli)))
	}
	return b
}

// Split returns the records of an intact file, each with its frame.
func Split(file []byte) [][]byte {
	var frames [][]byte
	for len(file) > 0 {
		n := FrameSize + int(binary.LittleEndian.Uint64(file))
		frames = append(frames, file[:n:n])
		file = file[n:]
	}
	return frames
}

// Example returns a tf.train.Example of 41 bytes: "id" is one int64, id, which is below
// 128; "vals" has three floats, id, id+0.5 and -id.
func Example(id int) []byte {
	b := []byte("\x0a\x27" + "\x0a\x0b\x0a\x02id\x12\x05\x1a\x03\x0a\x01?" + "\x0a\x18\x0a\x04vals\x12\x10\x12\x0e\x0a\x0c")
	b[bytes.IndexByte(b, '?')] = byte(id)
	for _, v := range []float32{float32(id), float32(id) + 0.5, -float32(id)} {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Examples returns n records, Example(0) and so on.
func Examples(n int) [][]byte {
	records := make([][]byte, n)
	for i := range records {
		records[i] = Example(i)
	}
	return records
}

// Unpacked returns Example(id) with n zeros for "vals", not packed. If a fixed
// number of floats is requested and n is larger, TensorFlow writes past the end
// of the tensor's memory before it reports the error. With n = 2,000,000 it
// crashes.
func Unpacked(id, n int) []byte {
	ids := Example(id)[2:15]
	return tagged(0x0a, slices.Concat(ids, unpacked("vals", n)))
}

// UnpackedOf returns an Example with n zeros for a feature, not packed: see Unpacked.
func UnpackedOf(feature string, n int) []byte { return tagged(0x0a, unpacked(feature, n)) }

// unpacked returns the entry of a feature of floats that are not packed.
func unpacked(feature string, n int) []byte {
	list := bytes.Repeat([]byte("\x0d\x00\x00\x00\x00"), n)
	return tagged(0x0a, slices.Concat(tagged(0x0a, []byte(feature)), tagged(0x12, tagged(0x12, list))))
}

// HugeString returns an Example whose feature, a list of one byte string,
// claims 2^31 bytes and holds one. TensorFlow crashes when it parses the
// feature.
func HugeString(feature string) []byte {
	value := tagged(0x0a, []byte("\x0a\x80\x80\x80\x80\x08x"))
	return tagged(0x0a, tagged(0x0a, slices.Concat(tagged(0x0a, []byte(feature)), tagged(0x12, value))))
}

// tagged returns a protobuf field of bytes.
func tagged(tag byte, b []byte) []byte {
	return append(binary.AppendUvarint([]byte{tag}, uint64(len(b))), b...)
}

// File returns the file most cases are made of: ten Examples in 570 bytes.
// Record i starts at 57*i.
func File() []byte { return Frame(Examples(10)...) }

// Cut returns the first n bytes.
func Cut(file []byte, n int) []byte { return slices.Clone(file[:n]) }

// Flip returns the file with one bit inverted, counted from the first byte's
// lowest.
func Flip(file []byte, bit int) []byte {
	b := slices.Clone(file)
	b[bit/8] ^= 1 << (bit % 8)
	return b
}

// SetLen returns the file with another length, and its correct checksum, in the
// header at offset.
func SetLen(file []byte, offset int, n uint64) []byte {
	b := slices.Clone(file)
	copy(b[offset:], Header(n))
	return b
}

// Swap returns the file with records i and j exchanged. The result is an intact file.
func Swap(file []byte, i, j int) []byte {
	f := Split(file)
	f[i], f[j] = f[j], f[i]
	return slices.Concat(f...)
}

// Dup returns the file with record i twice in a row. The result is an intact file.
func Dup(file []byte, i int) []byte {
	f := Split(file)
	return slices.Concat(slices.Insert(f, i, f[i])...)
}

// Drop returns the file without record i. The result is an intact file.
func Drop(file []byte, i int) []byte {
	f := Split(file)
	return slices.Concat(slices.Delete(f, i, i+1)...)
}

// Gzip returns the data as one gzip member.
func Gzip(data []byte) []byte {
	var b bytes.Buffer
	deflate(gzip.NewWriter(&b), bytes.NewReader(data))
	return b.Bytes()
}

// Zlib returns the data as a zlib stream.
func Zlib(data []byte) []byte {
	var b bytes.Buffer
	deflate(zlib.NewWriter(&b), bytes.NewReader(data))
	return b.Bytes()
}

// deflate writes all of r to w. In memory, no write can fail.
func deflate(w io.WriteCloser, r io.Reader) {
	_, err := io.Copy(w, r)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("corrupt: " + err.Error())
	}
}

// Members returns the parts as members of one gzip file.
func Members(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, Gzip(p)...)
	}
	return b
}

// Bomb returns a gzip file of about n/1000 bytes with one valid record of n
// zeros.
func Bomb(n int64) []byte {
	sum := crc32.New(castagnoli)
	copyZeros(sum, n)
	footer := binary.LittleEndian.AppendUint32(nil, mask(sum.Sum32()))
	var b bytes.Buffer
	deflate(gzip.NewWriter(&b), io.MultiReader(
		bytes.NewReader(Header(uint64(n))), io.LimitReader(zeros{}, n), bytes.NewReader(footer)))
	return b.Bytes()
}

// ZeroBomb returns a gzip file of about n/1000 bytes that holds n zeros, which
// are not records.
func ZeroBomb(n int64) []byte {
	var b bytes.Buffer
	deflate(gzip.NewWriter(&b), io.LimitReader(zeros{}, n))
	return b.Bytes()
}

func copyZeros(w io.Writer, n int64) {
	if _, err := io.Copy(w, io.LimitReader(zeros{}, n)); err != nil {
		panic("corrupt: " + err.Error())
	}
}

// zeros is a reader of zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
