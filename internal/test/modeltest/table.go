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
	return writeTable(block(entries, 0), compression, "z")
}

// WriteBlocks makes a table of one block, given by its entries' bytes and its restart
// points. The block's key in the index is last.
func WriteBlocks(entries []byte, restarts []uint32, last string) []byte {
	return writeTable(closed(entries, restarts...), 0, last)
}

// block makes a block of entries with whole keys.
func block(entries []Entry, restarts ...uint32) []byte {
	var b []byte
	for _, e := range entries {
		for _, n := range []int{0, len(e.Key), len(e.Value)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = append(append(b, e.Key...), e.Value...)
	}
	return closed(b, restarts...)
}

// closed appends the restart points to the entries of a block.
func closed(b []byte, restarts ...uint32) []byte {
	for _, r := range append(restarts, uint32(len(restarts))) {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// writeTable makes a table of one block, whose key in the index is last.
func writeTable(data []byte, compression byte, last string) []byte {
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
	place := add(data)
	foot := add(block(nil, 0))
	foot = append(foot, add(block([]Entry{{Key: last, Value: place}}, 0))...)
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

// Slice describes a slice of a variable: start and length in each dimension. A length of
// 0 stands for the whole dimension.
func Slice(extents ...int64) *tfproto.TensorSliceProto {
	s := &tfproto.TensorSliceProto{}
	for i := 0; i < len(extents); i += 2 {
		e := &tfproto.TensorSliceProto_Extent{Start: extents[i]}
		if extents[i+1] != 0 {
			e.HasLengthHack = &tfproto.TensorSliceProto_Extent_Length{Length: extents[i+1]}
		}
		s.Extent = append(s.Extent, e)
	}
	return s
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
