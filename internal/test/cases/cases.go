// Package cases gives tests the cases of the config format: folders with a
// loader config, its data and what must come out. It judges an output as the
// script check.py beside the cases does.
package cases

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Case is what a case expects, from its expect.json.
type Case struct {
	Name          string            `json:"-"`    // of its folder
	Mode          string            `json:"mode"` // "exact", "multiset", "windows" or "error"
	About         string            `json:"about"`
	Batches       []json.RawMessage `json:"batches"`
	ErrorContains []string          `json:"error_contains"`
	Properties    Properties        `json:"properties"`
}

// Properties are the details of what a case expects. README.md beside the
// cases explains them.
type Properties struct {
	Substitute []string `json:"substitute"` // files that hold ${CASE}
	Take       *int     `json:"take"`       // stop after that many batches; nil = run to the end
	OwnMessage bool     `json:"own_message"`
	Optional   bool     `json:"optional"`

	BatchSizes       []int  `json:"batch_sizes"`
	RowsPerEpoch     int    `json:"rows_per_epoch"`
	Shuffled         bool   `json:"shuffled"`
	EpochsDiffer     bool   `json:"epochs_differ"`
	FileKey          string `json:"file_key"`
	FilesContiguous  bool   `json:"files_contiguous"`
	FileOrderDiffers bool   `json:"file_order_differs"`
	MixedWithin      *struct {
		Rows  int `json:"rows"`
		Files int `json:"files"`
	} `json:"mixed_within"`

	Loader string `json:"loader"`
	Files  []struct {
		Records []json.RawMessage `json:"records"`
	} `json:"files"`
	Key        string   `json:"key"`
	Padded     bool     `json:"padded"`
	MinWindow  int      `json:"min_window"`
	MaxWindow  int      `json:"max_window"`
	Stride     *int     `json:"stride"`
	Tail       string   `json:"tail"`
	LeavesTail bool     `json:"leaves_tail"`
	Order      string   `json:"order"`
	Epochs     *int     `json:"epochs"`
	BatchSize  int      `json:"batch_size"`
	MinShare   *float64 `json:"min_share"`
}

// Dir returns the folder of all cases: ../shared/cases beside the project,
// or else the few that are copied into testdata/cases.
func Dir(t testing.TB) string {
	t.Helper()
	root := projectRoot(t)
	for _, dir := range []string{
		filepath.Join(root, "..", "shared", "cases"),
		filepath.Join(root, "testdata", "cases"),
	} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	t.Fatalf("no cases: neither ../shared/cases nor testdata/cases is in %s", root)
	return ""
}

// projectRoot returns the folder of go.mod, at or above the current one.
func projectRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

// All returns the names of all cases in order.
func All(t testing.TB) []string {
	t.Helper()
	dir := Dir(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), "expect.json")); err == nil {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("no cases in %s", dir)
	}
	return names
}

// Read returns what the case in dir expects. The folder's name is the case's.
func Read(t testing.TB, dir string) *Case {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Case{Name: filepath.Base(dir)}
	if err := json.Unmarshal(data, c); err != nil {
		t.Fatalf("%s/expect.json: %v", dir, err)
	}
	return c
}

// Prepare copies a case to a temporary folder, puts the folder's path where
// ${CASE} stands, and returns the path. Its last element is the case's name.
func Prepare(t testing.TB, name string) string {
	t.Helper()
	src, dst := filepath.Join(Dir(t), name), filepath.Join(t.TempDir(), name)
	c := Read(t, src)
	err := filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(dst, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if slices.Contains(c.Properties.Substitute, filepath.ToSlash(rel)) {
			data = bytes.ReplaceAll(data, []byte("${CASE}"), []byte(dst))
		}
		return os.WriteFile(filepath.Join(dst, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

// Model returns the path of the model.json of a prepared case, or "".
func Model(dir string) string {
	path := filepath.Join(dir, "model.json")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// IsSequence reports whether the case in dir uses a sequence loader.
func IsSequence(t testing.TB, dir string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "loader.json"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(data, []byte(`"continuous_sequence"`)) || bytes.Contains(data, []byte(`"discrete_sequence"`))
}
