package savedmodel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

const oneShard = "variables/variables.data-00000-of-00001"

// E11, E12: models that TensorFlow loads without their variables.
func TestVariablesMissing(t *testing.T) {
	for _, name := range []string{"linear", "graph_v1"} {
		dir := bare(t, name)
		remove(t, filepath.Join(dir, indexName))
		_, err := Read(dir, nil)
		wantError(t, err, millrace.ErrModel, indexName, "missing")
		remove(t, filepath.Join(dir, "variables"))
		_, err = Read(dir, nil)
		wantError(t, err, millrace.ErrModel, indexName, "missing")
	}
	with := copyModel(t, "linear")
	remove(t, filepath.Join(with, "variables"))
	_, err := Read(with, nil)
	wantError(t, err, millrace.ErrModel, indexName, "no such file")

	dir := bare(t, "constant")
	remove(t, filepath.Join(dir, "variables"))
	if _, err := Read(dir, nil); err != nil {
		t.Errorf("a model without variables needs none: %v", err)
	}
	writeFile(t, filepath.Join(dir, indexName), nil)
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrTruncated, indexName, "empty")
}

// E12: an index cut or flipped anywhere, without a fingerprint to tell.
func TestIndexDamaged(t *testing.T) {
	dir := bare(t, "linear")
	name := filepath.Join(dir, indexName)
	whole := readFile(t, name)
	flips(t, name, whole, 1, func(bit int) {
		if _, err := Read(dir, nil); !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	})
	for n := range whole {
		writeFile(t, name, whole[:n])
		if _, err := Read(dir, nil); !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

// E13.
func TestVariablesCut(t *testing.T) {
	dir := copyModel(t, "linear")
	name := filepath.Join(dir, oneShard)
	whole := readFile(t, name)
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		writeFile(t, name, whole[:n])
		_, err := Read(dir, &Options{SkipTensorChecksums: true})
		wantError(t, err, millrace.ErrModel, oneShard, "shard 1 of 1 ends too early", fmt.Sprintf("%d bytes, want %d", n, len(whole)))
		if !errors.Is(err, millrace.ErrTruncated) {
			t.Error("not of class truncated")
		}
	}
}

// E14.
func TestVariablesFlipped(t *testing.T) {
	for _, model := range []string{"linear", "sharded"} {
		dir := copyModel(t, model)
		shards, err := filepath.Glob(filepath.Join(dir, "variables/variables.data-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range shards {
			flips(t, name, readFile(t, name), 19, func(bit int) {
				if _, err := Read(dir, nil); !errors.Is(err, millrace.ErrModel) || !errors.Is(err, millrace.ErrCorrupt) {
					t.Fatalf("%s: bit %d flipped: %v", name, bit, err)
				}
			})
		}
	}
	dir := copyModel(t, "linear")
	name := filepath.Join(dir, oneShard)
	flips(t, name, readFile(t, name), 1<<20, func(int) {
		_, err := Read(dir, nil)
		wantError(t, err, millrace.ErrCorrupt, oneShard, `tensor "w/.ATTRIBUTES/VARIABLE_VALUE"`, "checksum of the variable's 24 bytes does not match")
		if _, err := Read(dir, &Options{SkipTensorChecksums: true}); err != nil {
			t.Errorf("told not to look: %v", err)
		}
	})
}

// E15.
func TestShardMissing(t *testing.T) {
	for i := range 4 {
		dir := copyModel(t, "sharded")
		name := fmt.Sprintf("variables/variables.data-0000%d-of-00004", i)
		remove(t, filepath.Join(dir, name))
		_, err := Read(dir, nil)
		wantError(t, err, millrace.ErrModel, name, fmt.Sprintf("missing: variables shard %d of 4", i+1))
	}
}

// A variable that the graph restores but nobody saved.
func TestVariableMissingFromIndex(t *testing.T) {
	dir := bare(t, "linear")
	for _, f := range []string{indexName, oneShard} {
		data := readFile(t, filepath.Join(models, "two_signatures", f))
		writeFile(t, filepath.Join(dir, f), data)
	}
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, indexName, `tensor "w/.ATTRIBUTES/VARIABLE_VALUE"`, "missing from the index")
}

// writeTable makes a table of one block, as variables.index is.
func writeTable(entries []tableEntry) []byte { return writeTableAs(entries, 0) }

// writeTableAs is writeTable with blocks compressed in a way.
func writeTableAs(entries []tableEntry, compression byte) []byte {
	block := func(entries []tableEntry) []byte {
		var b []byte
		for _, e := range entries {
			for _, n := range []int{0, len(e.key), len(e.value)} {
				b = binary.AppendUvarint(b, uint64(n))
			}
			b = append(append(b, e.key...), e.value...)
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
		out = binary.LittleEndian.AppendUint32(out, maskCRC(crc32.Checksum(out[len(out)-len(b)-1:], castagnoli)))
		return h
	}
	data := add(block(entries))
	foot := add(block(nil))
	foot = append(foot, add(block([]tableEntry{{key: "z", value: data}}))...)
	out = append(append(out, foot...), make([]byte, handlesSize-len(foot))...)
	return binary.LittleEndian.AppendUint64(out, tableMagic)
}

// bundleWith makes an index of one entry besides its header.
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
	return writeTable([]tableEntry{{"", h}, {key, v}})
}

func shapeOf(dims ...int64) *tfproto.TensorShapeProto {
	s := &tfproto.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
	}
	return s
}

// Indices that are whole and make no sense.
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
		{"size", bundleWith(t, header, "v", entry(shapeOf(2), 0, 4, 0)), "4 bytes do not hold a tensor of float32[2]"},
		{"negative dimension", bundleWith(t, header, "v", entry(shapeOf(-2), 0, 8, 0)), "do not hold"},
		{"too many elements", bundleWith(t, header, "v", entry(shapeOf(1<<40, 1<<40), 0, 8, 0)), "do not hold"},
		{"negative offset", bundleWith(t, header, "v", entry(shapeOf(2), -8, 8, 0)), "8 bytes at offset -8"},
		{"offset beyond all", bundleWith(t, header, "v", entry(shapeOf(2), 1<<63-4, 8, 0)), "at offset"},
		{"shard", bundleWith(t, header, "v", entry(shapeOf(2), 0, 8, 1)), "shard 1 of 1"},
		{"shards", bundleWith(t, &tfproto.BundleHeaderProto{NumShards: -1}, "v", entry(shapeOf(2), 0, 8, 0)), "-1 shards"},
		{"endian", bundleWith(t, &tfproto.BundleHeaderProto{NumShards: 1, Endianness: tfproto.BundleHeaderProto_BIG}, "v", entry(shapeOf(2), 0, 8, 0)), "big-endian"},
		{"no header", writeTable([]tableEntry{{"v", nil}}), "no header"},
		{"keys", writeTable([]tableEntry{{"b", nil}, {"a", nil}}), "not in order"},
		{"beyond the data", bundleWith(t, header, "v", entry(shapeOf(1<<20), 0, 1<<22, 0)), "ends too early"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := bare(t, "constant")
			writeFile(t, filepath.Join(dir, indexName), tt.data)
			r := readerIn(t, dir)
			_, err := r.checkVariables(&metaGraph{})
			wantError(t, err, millrace.ErrModel, indexName[:9], tt.want)
		})
	}
}

// Strings and variants have checksums of their own making; a tensor of strings
// is in every model that TensorFlow 2 wrote (its object graph).
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
	dir := bare(t, "constant")
	writeFile(t, filepath.Join(dir, indexName), bundleWith(t, &tfproto.BundleHeaderProto{NumShards: 1}, "v", &tfproto.BundleEntryProto{
		Dtype: tfproto.DataType_DT_VARIANT, Shape: shapeOf(2), Size: int64(len(data)), Crc32C: maskCRC(sum)}))
	name := filepath.Join(dir, oneShard)
	writeFile(t, name, data)
	// The graph restores its object graph, which this index does not have.
	r := readerIn(t, dir)
	if _, err := r.checkVariables(&metaGraph{}); err != nil {
		t.Fatal(err)
	}
	flips(t, name, data, 1, func(bit int) {
		if _, err := r.checkVariables(&metaGraph{}); !errors.Is(err, millrace.ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
	})
	// A length of more than there is, under a checksum that is right.
	long := binary.AppendUvarint(nil, 100)
	sum = crcOf(binary.LittleEndian.AppendUint64(nil, 100)...)
	inner := binary.LittleEndian.AppendUint32(nil, maskCRC(sum))
	_, err := readIndex(t, indexOf(t, 1, []string{"v"}, &tfproto.BundleEntryProto{Dtype: tfproto.DataType_DT_VARIANT, Shape: shapeOf(1), Size: 5,
		Crc32C: maskCRC(crc32.Update(sum, castagnoli, inner))}), append(long, inner...))
	wantError(t, err, millrace.ErrCorrupt, "the checksum of the variable's 5 bytes does not match")
}

// E16.
func TestAssets(t *testing.T) {
	name := func(name string) func(*tfproto.SavedModel) {
		return func(m *tfproto.SavedModel) { m.MetaGraphs[0].AssetFileDef[0].Filename = name }
	}
	tests := []struct {
		name   string
		change func(*tfproto.SavedModel)
		damage func(dir string) error
		class  millrace.Class
		want   string
	}{
		{"missing", name("words.txt"), func(dir string) error { return os.Remove(filepath.Join(dir, "assets/words.txt")) },
			millrace.ErrModel, "assets/words.txt: the asset is missing"},
		{"no folder", name("words.txt"), func(dir string) error { return os.RemoveAll(filepath.Join(dir, "assets")) },
			millrace.ErrModel, "the asset is missing"},
		{"a folder", name("."), nil, millrace.ErrModel, "not a regular file"},
		{"absolute", name("/etc/passwd"), nil, millrace.ErrUnsafeModel, `asset "/etc/passwd" is outside the model's folder`},
		{"upwards", name("../saved_model.pb"), nil, millrace.ErrUnsafeModel, "outside"},
		{"link out", name("words.txt"), func(dir string) error {
			path := filepath.Join(dir, "assets/words.txt")
			return errors.Join(os.Remove(path), os.Symlink("/etc/hosts", path))
		}, millrace.ErrUnsafeModel, "a symbolic link leads out of the model's folder"},
		{"folder links out", name("hosts"), func(dir string) error {
			path := filepath.Join(dir, "assets")
			return errors.Join(os.RemoveAll(path), os.Symlink("/etc", path))
		}, millrace.ErrUnsafeModel, "leads out of the model's folder"},
		{"tensor", func(m *tfproto.SavedModel) {
			m.MetaGraphs[0].AssetFileDef[0].TensorInfo.Encoding = &tfproto.TensorInfo_Name{Name: "gone:0"}
		}, nil, millrace.ErrModel, `no tensor "gone:0"`},
		{"path of no asset", func(m *tfproto.SavedModel) { m.MetaGraphs[0].AssetFileDef = nil }, nil,
			millrace.ErrUnsafeModel, `"InitializeTableFromTextFileV2"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := edited(t, "vocab", tt.change)
			if tt.damage != nil {
				if err := tt.damage(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Read(dir, nil)
			wantError(t, err, tt.class, tt.want)
		})
	}
}

// The variable between an asset's path and its table must not be changed by
// anything else.
func TestAssetVariable(t *testing.T) {
	tests := []struct {
		name string
		add  *tfproto.NodeDef
	}{
		{"assigned a constant", node("z", "AssignVariableOp", "Variable", "etc")},
		{"handed on", called("z", "someone", "Variable")},
		{"of the same name", with(node("z", "VarHandleOp"), "shared_name", text("Variable"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := edited(t, "vocab", func(m *tfproto.SavedModel) {
				g := m.MetaGraphs[0].GraphDef
				g.Node = append(g.Node, constant("etc", "/etc/passwd"), tt.add)
				i := slices.IndexFunc(g.Node, func(n *tfproto.NodeDef) bool { return n.Name == "Variable" })
				g.Node[i].Attr["shared_name"] = text("Variable")
			})
			_, err := Read(dir, nil)
			wantError(t, err, millrace.ErrUnsafeModel, `"InitializeTableFromTextFileV2"`)
		})
	}
}

// An asset that nothing reads may be missing, as in test models of TensorFlow
// Serving.
func TestMissingAssetThatNothingReads(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := edited(t, "linear", func(m *tfproto.SavedModel) {
		m.MetaGraphs[0].GraphDef.Node = append(m.MetaGraphs[0].GraphDef.Node, constant("a", "foo"))
		m.MetaGraphs[0].AssetFileDef = []*tfproto.AssetFileDef{{Filename: "foo.txt",
			TensorInfo: &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "a:0"}}}}
	})
	_, s := staged(t, dir)
	if len(s.Assets) != 1 {
		t.Errorf("assets %v", s.Assets)
	}
	if _, err := os.Lstat(s.Assets[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is something: %v", err)
	}
	_, err := Read(dir, &Options{AllowOps: []string{"ReadFile"}})
	wantError(t, err, millrace.ErrModel, "foo.txt", "the asset is missing")
}

// TensorFlow's own writer of 2016 compressed the blocks.
func TestCompressedIndex(t *testing.T) {
	dir := copyModel(t, "linear")
	if err := os.Remove(filepath.Join(dir, fingerprintName)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, indexName)
	entries, err := readTable(name, readFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, writeTableAs(entries, 1))
	got, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Variables, got.Variables); diff != "" || len(got.Variables) == 0 {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	writeFile(t, name, writeTableAs(entries, 2))
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "compressed in a way that TensorFlow does not know (2)")
}

func FuzzIndex(f *testing.F) {
	for _, name := range []string{"linear", "sharded"} {
		f.Add(readFile(f, filepath.Join(models, name, indexName)))
	}
	f.Add(writeTable([]tableEntry{{"", nil}, {"v", []byte{8, 1}}}))
	f.Add(writeTableAs([]tableEntry{{"", nil}, {"v", []byte{8, 1}}}, 1))
	dir := f.TempDir()
	writeFile(f, filepath.Join(dir, oneShard), make([]byte, 100))
	in, err := openFolder(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := readBundle("index", data)
		if err == nil {
			err = b.checkShards(in, true)
		}
		if err != nil && !errors.Is(err, millrace.ErrModel) {
			t.Fatalf("error of no class: %v", err)
		}
	})
}
