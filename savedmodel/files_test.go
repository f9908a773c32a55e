package savedmodel

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"millrace"
	"millrace/internal/base/tfproto"
)

// assetOf makes an AssetFileDef.
func assetOf(tensor, file string) *tfproto.AssetFileDef {
	return &tfproto.AssetFileDef{TensorInfo: &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: tensor}}, Filename: file}
}

// TensorFlow 1 lists assets in a collection, which counts if the graph lists none
// elsewhere.
func TestAssetsInACollection(t *testing.T) {
	value, err := proto.Marshal(assetOf("a:0", "words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	model := func(values ...[]byte) *tfproto.SavedModel {
		list := &tfproto.CollectionDef_AnyList{}
		for _, v := range values {
			list.Value = append(list.Value, &anypb.Any{TypeUrl: "type.googleapis.com/tensorflow.AssetFileDef", Value: v})
		}
		m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("a", "Placeholder"), node("b", "Placeholder")})
		m.MetaGraphs[0].CollectionDef = map[string]*tfproto.CollectionDef{
			"saved_model_assets": {Kind: &tfproto.CollectionDef_AnyList_{AnyList: list}},
			"another":            {Kind: &tfproto.CollectionDef_AnyList_{AnyList: list}},
		}
		return m
	}
	m, err := readGraph(t, model(value), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Program().Assets; !slices.Equal(got, []Asset{{"a:0", "assets/words.txt"}}) {
		t.Errorf("assets %v", got)
	}
	both := model(value)
	both.MetaGraphs[0].AssetFileDef = []*tfproto.AssetFileDef{assetOf("b:0", "z"), assetOf("b:0", "a"), assetOf("a:0", "z")}
	if m, err = readGraph(t, both, nil); err != nil {
		t.Fatal(err)
	}
	if got := m.Program().Assets; !slices.Equal(got, []Asset{{"a:0", "assets/z"}, {"b:0", "assets/a"}, {"b:0", "assets/z"}}) {
		t.Errorf("assets %v", got)
	}
	_, err = readGraph(t, model(value, value[:len(value)-1]), nil)
	wantError(t, err, millrace.ErrTruncated, "in AssetFileDef: field 2 is cut off")
}

// The error about an asset that cannot be opened calls it an asset.
func TestOddAsset(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x")})
	m.MetaGraphs[0].AssetFileDef = []*tfproto.AssetFileDef{assetOf("x:0", "words")}
	dir := t.TempDir()
	writeModel(t, dir, m)
	writeFile(t, filepath.Join(dir, "assets/words/one"), nil)
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "assets/words: the asset: not a regular file")
	remove(t, filepath.Join(dir, "assets/words"))
	writeFile(t, filepath.Join(dir, "assets/words"), nil)
	if _, err := Read(dir, nil); err != nil {
		t.Error(err)
	}
	m.MetaGraphs[0].AssetFileDef[0] = assetOf("^x", "words")
	_, err = readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `asset "words": the graph has no tensor "^x"`)
}

// Another model and another asset each make another digest, and a copy does not.
func TestDigest(t *testing.T) {
	digest := func(dir string) string {
		t.Helper()
		m, err := Read(dir, &Options{IgnoreFingerprint: true, Unchecked: true})
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const models = "../testdata/models/"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(models+"vocab")); err != nil {
		t.Fatal(err)
	}
	copied := digest(dir)
	if want := digest(models + "vocab"); copied != want {
		t.Errorf("a copy has %s, want %s", copied, want)
	}
	if copied == digest(models+"linear") {
		t.Error("another model has the same digest")
	}
	assets, err := filepath.Glob(filepath.Join(dir, "assets", "*"))
	if err != nil || len(assets) == 0 {
		t.Fatal(assets, err)
	}
	text, err := os.ReadFile(assets[0])
	if err != nil {
		t.Fatal(err)
	}
	text[0] ^= 1
	if err := os.WriteFile(assets[0], text, 0o666); err != nil {
		t.Fatal(err)
	}
	if digest(dir) == copied {
		t.Error("with another asset the digest is the same")
	}
}
