package savedmodel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// E12: an index that is cut or has a flipped bit anywhere, in a model without a
// fingerprint.
func TestIndexDamaged(t *testing.T) {
	dir := bare(t, "linear")
	name := filepath.Join(dir, indexName)
	whole := readFile(t, name)
	flips(t, name, 1, func(bit int) {
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
			flips(t, name, 19, func(bit int) {
				if _, err := Read(dir, nil); !errors.Is(err, millrace.ErrModel) || !errors.Is(err, millrace.ErrCorrupt) {
					t.Fatalf("%s: bit %d flipped: %v", name, bit, err)
				}
			})
		}
	}
	dir := copyModel(t, "linear")
	name := filepath.Join(dir, oneShard)
	flips(t, name, 1<<20, func(int) {
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

// A variable that the graph restores but the index lacks.
func TestVariableMissingFromIndex(t *testing.T) {
	dir := bare(t, "linear")
	for _, f := range []string{indexName, oneShard} {
		data := readFile(t, filepath.Join(models, "two_signatures", f))
		writeFile(t, filepath.Join(dir, f), data)
	}
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, indexName, `tensor "w/.ATTRIBUTES/VARIABLE_VALUE"`, "missing from the index")
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

// An asset that no operation reads may be missing, as in test models of TensorFlow
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
