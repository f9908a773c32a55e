package modeltest

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/snappy"

	"millrace/internal/base/tfproto"
)

// Entry is an entry of a table.
type Entry struct {
	Key   string
	Value []byte
}

// WriteTable makes a table of one block, in the format of variables.index.
func WriteTable(entries []Entry) []byte { return WriteTableAs(entries, 0) }

// WriteTableAs is WriteTable with the given compression of blocks.
func WriteTableAs(entries []Entry, compression byte) []byte {
	block := func(entries []Entry) []byte {
		var b []byte
		for _, e := range entries {
			for _, n := range []int{0, len(e.Key), len(e.Value)} {
				b = binary.AppendUvarint(b, uint64(n))
			}
			b = append(append(b, e.Key...), e.Value...)
		}
		b = binary.LittleEndian.AppendUint32(b, 0)
		return binary.LittleEndian.AppendUint32(b, 1)
	}
	var out []byte
	add := func(b []byte) []byte {
		if compression == 1 {
			b = snappy.Encode(nil, b)
		}
		h := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(out))), uint64(len(b)))
		out = append(append(out, b...), compression)
		out = binary.LittleEndian.AppendUint32(out, Checksum(out[len(out)-len(b)-1:]))
		return h
	}
	data := add(block(entries))
	foot := add(block(nil))
	foot = append(foot, add(block([]Entry{{Key: "z", Value: data}}))...)
	out = append(append(out, foot...), make([]byte, 40-len(foot))...)
	return binary.LittleEndian.AppendUint64(out, 0xdb4775248b80fb57)
}

// Checksum returns the CRC-32C of some bytes, masked as in TensorFlow.
func Checksum(b []byte) uint32 {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// Shape makes a shape.
func Shape(dims ...int64) *tfproto.TensorShapeProto {
	s := &tfproto.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
	}
	return s
}

// Floats describes a tensor of float32 in the first data file.
func Floats(shape *tfproto.TensorShapeProto, offset, size int64) *tfproto.BundleEntryProto {
	return &tfproto.BundleEntryProto{Dtype: tfproto.DataType_DT_FLOAT, Shape: shape, Offset: offset, Size: size}
}

// Index makes an index; keys must be in order.
func Index(t testing.TB, shards int32, keys []string, entries ...*tfproto.BundleEntryProto) []byte {
	t.Helper()
	table := []Entry{{Value: Marshal(t, &tfproto.BundleHeaderProto{NumShards: shards})}}
	for i, e := range entries {
		table = append(table, Entry{Key: keys[i], Value: Marshal(t, e)})
	}
	return WriteTable(table)
}
