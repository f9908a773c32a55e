package savedmodel

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace"
	"millrace/internal/base/scratch"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
)

// staged reads a model and stages its files in a folder of the test.
func staged(t *testing.T, dir string) (*Model, *Stage) {
	t.Helper()
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Stage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return m, s
}

// TensorFlow reads the opened files, whatever happens to their paths.
func TestStageHoldsTheFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, model := range []string{"linear", "sharded"} {
		dir := copyModel(t, model)
		index := readFile(t, filepath.Join(dir, indexName))
		_, s := staged(t, dir)
		shards, err := filepath.Glob(filepath.Join(dir, "variables", "variables.data-*"))
		if err != nil || len(shards) == 0 {
			t.Fatal(err)
		}
		for _, name := range append(shards, filepath.Join(dir, indexName)) {
			want := readFile(t, name)
			remove(t, name)
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, filepath.Join(filepath.Dir(s.Variables), filepath.Base(name))); !bytes.Equal(got, want) {
				t.Errorf("%s: %d other bytes", name, len(got))
			}
		}
		if got := readFile(t, s.Variables+".index"); !bytes.Equal(got, index) {
			t.Errorf("%s: another index", model)
		}
	}
}

func TestStageAsset(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	m, s := staged(t, filepath.Join(models, "vocab"))
	if len(s.Assets) != 1 || filepath.Base(s.Assets[0]) != "words.txt" || m.Program().Assets[0].Tensor != "asset_path_initializer:0" {
		t.Fatalf("assets %v of %v", s.Assets, m.Program().Assets)
	}
	if got := readFile(t, s.Assets[0]); !strings.HasPrefix(string(got), "mill\n") {
		t.Errorf("it holds %q", got)
	}
}

// The folder is private, and is removed.
func TestStageFolder(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, s := staged(t, filepath.Join(models, "linear"))
	entries, err := os.ReadDir(temp)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(temp); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	m, err := Read(filepath.Join(models, "constant"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.program.RestoreOp = ""
	none, err := m.Stage()
	if err != nil || none.dir != "" {
		t.Errorf("a model without files: %v, %v", none, err)
	}
}

// If TMPDIR is not a folder, a memory file system is used instead. Removed models
// cannot be staged.
func TestStageElsewhere(t *testing.T) {
	if !isThere("/dev/shm") {
		t.Skip("no /dev/shm on this system")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	dir := copyModel(t, "linear")
	m, s := staged(t, dir)
	if !strings.HasPrefix(s.Variables, "/dev/shm/"+scratch.Prefix) || filepath.Base(s.Variables) != "variables" {
		t.Errorf("staged at %s", s.Variables)
	}
	own := s.dir
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", own, err)
	}
	remove(t, filepath.Join(dir, oneShard))
	_, err := m.Stage()
	wantError(t, err, millrace.ErrModel, oneShard, "there is no such file")
	remove(t, dir)
	_, err = m.Stage()
	wantError(t, err, millrace.ErrModel, dir, "there is no such model folder")
	var none *Stage
	if err := none.Close(); err != nil {
		t.Errorf("no stage: %v", err)
	}
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// The folder of a killed process is removed. A folder in use is not, and neither is a
// new one, whose owner may not have locked it yet.
func TestStageRemovesWhatIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-2 * scratch.StaleAfter)
	_, used := staged(t, filepath.Join(models, "linear"))
	left, fresh, other := filepath.Join(temp, scratch.Prefix+"left"), filepath.Join(temp, scratch.Prefix+"new"), filepath.Join(temp, "other")
	for _, dir := range []string{left, fresh, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{left, other, used.dir} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	staged(t, filepath.Join(models, "linear"))
	for dir, want := range map[string]bool{left: false, fresh: true, other: true, used.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: is there %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

// A file that was changed after the check is refused as it is staged.
func TestStageRefuses(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := copyModel(t, "linear")
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	shard := filepath.Join(dir, oneShard)
	remove(t, shard)
	outside := filepath.Join(t.TempDir(), "outside")
	writeFile(t, outside, nil)
	if err := os.Symlink(outside, shard); err != nil {
		t.Fatal(err)
	}
	_, err = m.Stage()
	wantError(t, err, millrace.ErrUnsafeModel, "leads out of the model's folder")
	remove(t, shard)
	if err := syscall.Mkfifo(shard, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = m.Stage()
	wantError(t, err, millrace.ErrModel, "not a regular file")
	if entries, err := os.ReadDir(temp); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// The program does not depend on the order of the file's fields, and is reproducible.
func TestProgramIsCanonical(t *testing.T) {
	dir := bare(t, "linear")
	want, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, binaryName)
	writeFile(t, name, modeltest.Reversed(readFile(t, name), &tfproto.SavedModel{}))
	got, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.SHA256 == want.SHA256 || !bytes.Equal(got.Program().MetaGraph, want.Program().MetaGraph) || len(got.Program().GraphDef) == 0 {
		t.Error("the same model in another order is another program")
	}
}
