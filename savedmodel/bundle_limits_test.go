package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
)

// floats describes a tensor of float32 in the first data file.
func floats(shape *tfproto.TensorShapeProto, offset, size int64) *tfproto.BundleEntryProto {
	return &tfproto.BundleEntryProto{Dtype: tfproto.DataType_DT_FLOAT, Shape: shape, Offset: offset, Size: size}
}

// indexOf makes an index; keys have to be in order.
func indexOf(t testing.TB, shards int32, keys []string, entries ...*tfproto.BundleEntryProto) []byte {
	t.Helper()
	table := []tableEntry{{value: marshal(t, &tfproto.BundleHeaderProto{NumShards: shards})}}
	for i, e := range entries {
		table = append(table, tableEntry{keys[i], marshal(t, e)})
	}
	return writeTable(table)
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readIndex reads an index, beside a data file, and returns the variables.
func readIndex(t testing.TB, index, data []byte) ([]Variable, error) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, indexName), index)
	writeFile(t, filepath.Join(dir, oneShard), data)
	return readerIn(t, dir).checkVariables(&metaGraph{})
}

// Numbers in an index that are just within what is possible, and just beyond.
func TestIndexLimits(t *testing.T) {
	v := []string{"v"}
	const crcOfNothing = crcMaskDelta
	nothing := floats(shapeOf(0), 0, 0)
	nothing.Crc32C = crcOfNothing
	last := floats(shapeOf(2), math.MaxInt64-8, 8)
	for _, tt := range []struct {
		name  string
		index []byte
		want  string // "": it is read
	}{
		{"no entry at all", writeTable(nil), "it is damaged: it has no header"},
		{"a header alone", indexOf(t, 1, nil), ""},
		{"no shard", indexOf(t, 0, nil), ""},
		{"as many shards as may be", indexOf(t, maxShards, nil), fmt.Sprintf("data-00000-of-65536: the file is missing: variables shard 1 of %d", maxShards)},
		{"a shard more", indexOf(t, maxShards+1, nil), fmt.Sprintf("it is damaged: %d shards", maxShards+1)},
		{"a header that is cut", writeTable([]tableEntry{{value: []byte{8}}}), "it is damaged: the header: offset 0: in BundleHeaderProto: field 1 is cut off"},
		{"an entry that is cut", writeTable([]tableEntry{{}, {"v", []byte{8}}}), `tensor "v": it is damaged: offset 0: in BundleEntryProto: field 1 is cut off`},
		{"no bytes", indexOf(t, 1, v, nothing), ""},
		{"bytes of no element", indexOf(t, 1, v, floats(shapeOf(0), 0, 4)), `tensor "v": it is damaged: 4 bytes do not hold a tensor of float32[0]`},
		{"bytes below 0", indexOf(t, 1, v, floats(shapeOf(0), 0, -1)), "-1 bytes at offset 0"},
		{"the last offset", indexOf(t, 1, v, last), fmt.Sprintf("ends too early: 0 bytes, want %d", int64(math.MaxInt64))},
		{"one more", indexOf(t, 1, v, floats(shapeOf(2), math.MaxInt64-7, 8)), fmt.Sprintf("8 bytes at offset %d", math.MaxInt64-7)},
		{"a shard below 0", indexOf(t, 1, v, &tfproto.BundleEntryProto{ShardId: -1}), "it is in shard -1 of 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readIndex(t, tt.index, nil)
			var e *millrace.Error
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "":
				wantError(t, err, millrace.ErrModel, tt.want)
				if errors.As(err, &e) && e.Offset != -1 {
					t.Errorf("the error is at offset %d of the index", e.Offset)
				}
			}
		})
	}
}

// A variable without a shape is a scalar. Those in slices are listed by their
// whole, whose bytes are nowhere.
func TestVariablesOfAnIndex(t *testing.T) {
	data := []byte{0, 0, 128, 63}
	scalar := floats(nil, 0, 4)
	scalar.Crc32C = maskCRC(crcOf(data...))
	sliced := floats(shapeOf(7), 0, 0)
	sliced.Slices = []*tfproto.TensorSliceProto{{}}
	sliced.ShardId = 5
	part := proto.CloneOf(scalar)
	got, err := readIndex(t, indexOf(t, 1, []string{slicePrefix + "part", ObjectGraphKey, "scalar", "whole"}, part, proto.CloneOf(scalar), scalar, sliced), data)
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{{spec("scalar", dtype.Float), 4}, {spec("whole", dtype.Float, 7), 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got)\n%s", diff)
	}
}

// Of two variables with wrong checksums the error names the one that is first in
// the file.
func TestFirstWrongChecksum(t *testing.T) {
	for _, offsets := range [][]int64{{0, 4}, {4, 0}} {
		index := indexOf(t, 1, []string{"a", "b"}, floats(nil, offsets[0], 4), floats(nil, offsets[1], 4))
		_, err := readIndex(t, index, make([]byte, 8))
		want := map[int64]string{0: "a", 4: "b"}[offsets[0]]
		wantError(t, err, millrace.ErrCorrupt, fmt.Sprintf("tensor %q", want), "the checksum of the variable's 4 bytes does not match")
		var e *millrace.Error
		if errors.As(err, &e) && e.Offset != 0 {
			t.Errorf("the error is at offset %d", e.Offset)
		}
	}
}

// Files of variables that are not files, or too large to be read.
func TestOddVariableFiles(t *testing.T) {
	dir := bare(t, "linear")
	shard, index := filepath.Join(dir, oneShard), filepath.Join(dir, indexName)
	remove(t, shard)
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, oneShard, "missing")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is no fs.ErrNotExist: %v", err)
	}
	if err := os.Mkdir(shard, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, oneShard, "not a regular file")
	if err := os.Truncate(index, MaxIndexBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrLimit, indexName, fmt.Sprintf("%d bytes, at most %d are read", MaxIndexBytes+1, MaxIndexBytes))
	remove(t, index)
	if err := os.Mkdir(index, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, indexName, "not a regular file")
}

// Reading a model leaves none of its files open, whether it is sound or not, and
// neither does staging it.
func TestFilesAreClosed(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	t.Setenv("TMPDIR", t.TempDir())
	cut := copyModel(t, "linear")
	writeFile(t, filepath.Join(cut, oneShard), nil)
	empty := bare(t, "linear")
	writeFile(t, filepath.Join(empty, indexName), nil)
	for _, dir := range []string{filepath.Join(models, "linear"), filepath.Join(models, "vocab"), cut, empty} {
		_, want := Read(dir, nil) // opens what the runtime of Go keeps
		before := open()
		m, err := Read(dir, nil)
		if (err == nil) != (want == nil) {
			t.Error(err)
		}
		if err == nil {
			s, err := m.Stage()
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		}
		IsModel(dir)
		_, _ = ReadCheckpoint(filepath.Join(dir, variablesPrefix))
		if after := open(); after > before {
			t.Errorf("%s: %d files stay open", dir, after-before)
		}
	}
}
