package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
	"millrace/savedmodel/modelfile"
)

// dataFile is the only data file of a checkpoint "v", and linear the folder of a model.
const (
	dataFile = "v.data-00000-of-00001"
	linear   = "../../testdata/models/linear"
)

// readIndex reads an index, with a data file, and returns the variables.
func readIndex(t testing.TB, index, data []byte) ([]Variable, error) {
	t.Helper()
	dir := t.TempDir()
	modeltest.WriteFile(t, filepath.Join(dir, "v.index"), index)
	modeltest.WriteFile(t, filepath.Join(dir, dataFile), data)
	return variablesIn(t, dir)
}

// variablesIn reads the index in a folder, and checks the data files.
func variablesIn(t testing.TB, dir string) ([]Variable, error) {
	t.Helper()
	in, err := modelfile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := Read("v.index", modeltest.ReadFile(t, filepath.Join(dir, "v.index")))
	if err != nil {
		return nil, err
	}
	b.Prefix = "v"
	if err := b.CheckShards(in, true); err != nil {
		return nil, err
	}
	return b.Variables(), nil
}

// Numbers in an index at and just beyond their limits.
func TestIndexLimits(t *testing.T) {
	v := []string{"v"}
	const crcOfNothing = crcMaskDelta
	nothing := modeltest.Floats(modeltest.Shape(0), 0, 0)
	nothing.Crc32C = crcOfNothing
	last := modeltest.Floats(modeltest.Shape(2), math.MaxInt64-8, 8)
	for _, tt := range []struct {
		name  string
		index []byte
		want  string // part of the error; "": no error
	}{
		{"no entry at all", modeltest.WriteTable(nil), "it is damaged: it has no header"},
		{"a header alone", modeltest.Index(t, 1, nil), ""},
		{"no shard", modeltest.Index(t, 0, nil), ""},
		{"as many shards as may be", modeltest.Index(t, maxShards, nil), fmt.Sprintf("data-00000-of-65536: the file is missing: variables shard 1 of %d", maxShards)},
		{"a shard more", modeltest.Index(t, maxShards+1, nil), fmt.Sprintf("it is damaged: %d shards", maxShards+1)},
		{"a header that is cut", modeltest.WriteTable([]modeltest.Entry{{Value: []byte{8}}}), "it is damaged: the header: offset 0: in BundleHeaderProto: field 1 is cut off"},
		{"an entry that is cut", modeltest.WriteTable([]modeltest.Entry{{}, {Key: "v", Value: []byte{8}}}), `tensor "v": it is damaged: offset 0: in BundleEntryProto: field 1 is cut off`},
		{"no bytes", modeltest.Index(t, 1, v, nothing), ""},
		{"bytes of no element", modeltest.Index(t, 1, v, modeltest.Floats(modeltest.Shape(0), 0, 4)), `tensor "v": it is damaged: 4 bytes do not hold a tensor of float32[0]`},
		{"bytes below 0", modeltest.Index(t, 1, v, modeltest.Floats(modeltest.Shape(0), 0, -1)), "-1 bytes at offset 0"},
		{"the last offset", modeltest.Index(t, 1, v, last), fmt.Sprintf("ends too early: 0 bytes, want %d", int64(math.MaxInt64))},
		{"one more", modeltest.Index(t, 1, v, modeltest.Floats(modeltest.Shape(2), math.MaxInt64-7, 8)), fmt.Sprintf("8 bytes at offset %d", math.MaxInt64-7)},
		{"a shard below 0", modeltest.Index(t, 1, v, &tfproto.BundleEntryProto{ShardId: -1}), "it is in shard -1 of 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readIndex(t, tt.index, nil)
			var e *millrace.Error
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "":
				modeltest.WantError(t, err, millrace.ErrModel, tt.want)
				if errors.As(err, &e) && e.Offset != -1 {
					t.Errorf("the error is at offset %d of the index", e.Offset)
				}
			}
		})
	}
}

// A variable without a shape is a scalar. A variable in slices is listed as a whole,
// without a location.
func TestVariablesOfAnIndex(t *testing.T) {
	data := []byte{0, 0, 128, 63}
	scalar := modeltest.Floats(nil, 0, 4)
	scalar.Crc32C = maskCRC(crcOf(data...))
	sliced := modeltest.Floats(modeltest.Shape(2), 0, 0)
	sliced.Slices = []*tfproto.TensorSliceProto{modeltest.Slice(0, 1), modeltest.Slice(1, 1)}
	sliced.ShardId = 5
	part := modeltest.Floats(modeltest.Shape(1), 0, 4)
	part.Crc32C = scalar.Crc32C
	keys := []string{sliceKey("whole", []extent{{0, 1}}), sliceKey("whole", []extent{{1, 1}}), ObjectGraphKey, "scalar", "whole"}
	got, err := readIndex(t, modeltest.Index(t, 1, keys, part, part, proto.CloneOf(scalar), scalar, sliced), data)
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{{dtype.TensorSpec{Name: "scalar", DType: dtype.Float, Shape: dtype.ScalarShape()}, 4}, {dtype.TensorSpec{Name: "whole", DType: dtype.Float, Shape: dtype.MakeShape(2)}, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got)\n%s", diff)
	}
}

// Of two variables with wrong checksums the error names the one that is first in
// the file.
func TestFirstWrongChecksum(t *testing.T) {
	for _, offsets := range [][]int64{{0, 4}, {4, 0}} {
		index := modeltest.Index(t, 1, []string{"a", "b"}, modeltest.Floats(nil, offsets[0], 4), modeltest.Floats(nil, offsets[1], 4))
		_, err := readIndex(t, index, make([]byte, 8))
		want := map[int64]string{0: "a", 4: "b"}[offsets[0]]
		modeltest.WantError(t, err, millrace.ErrCorrupt, fmt.Sprintf("tensor %q", want), "the checksum of the variable's 4 bytes does not match")
		var e *millrace.Error
		if errors.As(err, &e) && e.Offset != 0 {
			t.Errorf("the error is at offset %d", e.Offset)
		}
	}
}

// bundleWith makes an index of one entry and its header.
func bundleWith(t testing.TB, header *tfproto.BundleHeaderProto, key string, e *tfproto.BundleEntryProto) []byte {
	t.Helper()
	h, err := proto.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	v, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.WriteTable([]modeltest.Entry{{Value: h}, {Key: key, Value: v}})
}

// Complete indices with impossible contents.
func TestIndexNonsense(t *testing.T) {
	header := &tfproto.BundleHeaderProto{NumShards: 1}
	entry := func(shape *tfproto.TensorShapeProto, offset, size int64, shard int32) *tfproto.BundleEntryProto {
		return &tfproto.BundleEntryProto{Dtype: tfproto.DataType_DT_FLOAT, Shape: shape, Offset: offset, Size: size, ShardId: shard}
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"size", bundleWith(t, header, "v", entry(modeltest.Shape(2), 0, 4, 0)), "4 bytes do not hold a tensor of float32[2]"},
		{"negative dimension", bundleWith(t, header, "v", entry(modeltest.Shape(-2), 0, 8, 0)), "do not hold"},
		{"too many elements", bundleWith(t, header, "v", entry(modeltest.Shape(1<<40, 1<<40), 0, 8, 0)), "do not hold"},
		{"negative offset", bundleWith(t, header, "v", entry(modeltest.Shape(2), -8, 8, 0)), "8 bytes at offset -8"},
		{"offset beyond all", bundleWith(t, header, "v", entry(modeltest.Shape(2), 1<<63-4, 8, 0)), "at offset"},
		{"shard", bundleWith(t, header, "v", entry(modeltest.Shape(2), 0, 8, 1)), "shard 1 of 1"},
		{"shards", bundleWith(t, &tfproto.BundleHeaderProto{NumShards: -1}, "v", entry(modeltest.Shape(2), 0, 8, 0)), "-1 shards"},
		{"endian", bundleWith(t, &tfproto.BundleHeaderProto{NumShards: 1, Endianness: tfproto.BundleHeaderProto_BIG}, "v", entry(modeltest.Shape(2), 0, 8, 0)), "big-endian"},
		{"no header", modeltest.WriteTable([]modeltest.Entry{{Key: "v", Value: nil}}), "no header"},
		{"keys", modeltest.WriteTable([]modeltest.Entry{{Key: "b", Value: nil}, {Key: "a", Value: nil}}), "not in order"},
		{"beyond the data", bundleWith(t, header, "v", entry(modeltest.Shape(1<<20), 0, 1<<22, 0)), "ends too early"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readIndex(t, tt.data, nil)
			modeltest.WantError(t, err, millrace.ErrModel, tt.want)
		})
	}
}

// The checksums of strings and variants are computed in special ways. Every model of
// TensorFlow 2 has a tensor of strings, its object graph.
func TestVariantChecksum(t *testing.T) {
	var data []byte
	var sum uint32
	for _, v := range []string{"first", ""} {
		data = append(binary.AppendUvarint(data, uint64(len(v))), v...)
		sum = crc32.Update(sum, castagnoli, binary.LittleEndian.AppendUint64(nil, uint64(len(v))))
		sum = crc32.Update(sum, castagnoli, []byte(v))
		inner := binary.LittleEndian.AppendUint32(nil, maskCRC(sum))
		data = append(data, inner...)
		sum = crc32.Update(sum, castagnoli, inner)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, dataFile)
	modeltest.WriteFile(t, filepath.Join(dir, "v.index"), bundleWith(t, &tfproto.BundleHeaderProto{NumShards: 1}, "v", &tfproto.BundleEntryProto{
		Dtype: tfproto.DataType_DT_VARIANT, Shape: modeltest.Shape(2), Size: int64(len(data)), Crc32C: maskCRC(sum)}))
	modeltest.WriteFile(t, name, data)
	if _, err := variablesIn(t, dir); err != nil {
		t.Fatal(err)
	}
	modeltest.Flips(t, name, 1, func(bit int) {
		if _, err := variablesIn(t, dir); !errors.Is(err, millrace.ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	})
	// A length beyond the end of the data, with a correct checksum.
	long := binary.AppendUvarint(nil, 100)
	sum = crcOf(binary.LittleEndian.AppendUint64(nil, 100)...)
	inner := binary.LittleEndian.AppendUint32(nil, maskCRC(sum))
	_, err := readIndex(t, modeltest.Index(t, 1, []string{"v"}, &tfproto.BundleEntryProto{Dtype: tfproto.DataType_DT_VARIANT, Shape: modeltest.Shape(1), Size: 5,
		Crc32C: maskCRC(crc32.Update(sum, castagnoli, inner))}), append(long, inner...))
	modeltest.WantError(t, err, millrace.ErrCorrupt, "the checksum of the variable's 5 bytes does not match")
}

// TensorFlow's writer of 2016 compressed the blocks.
func TestCompressedIndex(t *testing.T) {
	data := modeltest.ReadFile(t, filepath.Join(linear, "variables", "variables.index"))
	entries, err := readTable("v.index", data)
	if err != nil {
		t.Fatal(err)
	}
	var rows []modeltest.Entry
	for _, e := range entries {
		rows = append(rows, modeltest.Entry{Key: e.key, Value: e.value})
	}
	want, err := Read("v.index", data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read("v.index", modeltest.WriteTableAs(rows, 1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Variables(), got.Variables()); diff != "" || len(got.Variables()) == 0 {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	_, err = Read("v.index", modeltest.WriteTableAs(rows, 2))
	modeltest.WantError(t, err, millrace.ErrModel, "compressed in a way that TensorFlow does not know (2)")
}

func FuzzIndex(f *testing.F) {
	for _, name := range []string{"linear", "sharded"} {
		f.Add(modeltest.ReadFile(f, filepath.Join(filepath.Dir(linear), name, "variables", "variables.index")))
	}
	f.Add(modeltest.WriteTable([]modeltest.Entry{{Key: "", Value: nil}, {Key: "v", Value: []byte{8, 1}}}))
	f.Add(modeltest.WriteTableAs([]modeltest.Entry{{Key: "", Value: nil}, {Key: "v", Value: []byte{8, 1}}}, 1))
	dir := f.TempDir()
	modeltest.WriteFile(f, filepath.Join(dir, dataFile), make([]byte, 100))
	in, err := modelfile.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read("index", data)
		if err == nil {
			b.Prefix = "v"
			err = b.CheckShards(in, true)
		}
		if err != nil && !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("error of no class: %v", err)
		}
	})
}

// Blocks and handles of a table that are too short.
func TestShortBlocks(t *testing.T) {
	for _, b := range []string{"", "\x00\x00\x00", "\x01\x00\x00\x00", "\xff\xff\xff\x7f"} {
		if entries, ok := new(table).parseBlock([]byte(b)); ok {
			t.Errorf("parseBlock(%x) = %v", b, entries)
		}
	}
	if entries, ok := new(table).parseBlock([]byte("\x00\x00\x00\x00")); !ok || len(entries) != 0 {
		t.Errorf("an empty block gives %v, %v", entries, ok)
	}
	for _, b := range []string{"", "\x05", "\x80", "\x05\x80", "\x85\x00\x05"} {
		if h, n := parseHandle([]byte(b)); n != 0 {
			t.Errorf("parseHandle(%x) = %v, %d", b, h, n)
		}
	}
	if h, n := parseHandle([]byte("\x05\x06\x07")); n != 2 || h != (handle{5, 6}) {
		t.Errorf("parseHandle = %v, %d", h, n)
	}
}

// The size of a tensor follows from its type and shape where it does.
func TestSizesOfEntries(t *testing.T) {
	for _, tt := range []struct {
		dt    dtype.DataType
		dims  []int64
		bytes int64
		want  int64
		ok    bool
	}{
		{dtype.Float, []int64{2, 3}, 24, 24, true},
		{dtype.Float, []int64{}, 4, 4, true},
		{dtype.Float, []int64{-1}, 4, 0, false},
		{dtype.Float, []int64{1 << 62, 4}, 4, 0, false},
		{dtype.String, []int64{3}, 3, -1, true},
		{dtype.String, []int64{3}, 2, -1, false},
		{dtype.DataType(99), []int64{3}, 1, -1, true},
	} {
		e := &Entry{}
		e.DType, e.Shape, e.Bytes = tt.dt, dtype.MakeShape(tt.dims...), tt.bytes
		if got, ok := e.bytes(); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %d, %v", tt, got, ok)
		}
	}
}
