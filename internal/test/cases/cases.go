// Package cases gives tests the cases of the config format. A case is a folder
// with a loader config, its data and the expected output. The package compares
// outputs by the same rules as the script check.py in the archive of the cases.
package cases

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Case is the expected result of a case, from its expect.json.
type Case struct {
	Name          string            `json:"-"`    // name of its folder
	Mode          string            `json:"mode"` // "exact", "multiset", "windows", "chunks" or "error"
	About         string            `json:"about"`
	Batches       []json.RawMessage `json:"batches"`
	ErrorContains []string          `json:"error_contains"`
	Properties    Properties        `json:"properties"`
}

// Properties are the details of what a case expects. The README.md of the cases
// explains them.
type Properties struct {
	Substitute []string `json:"substitute"` // files that contain ${CASE}
	Take       *int     `json:"take"`       // stop after this number of batches; nil = run to the end
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

	MaxSeqs       *int                       `json:"max_seqs"`
	Budget        []string                   `json:"budget"`
	Ordering      string                     `json:"ordering"`
	Partition     int                        `json:"partition_epoch"`
	ShuffleSeqs   int                        `json:"shuffle_seqs"` // 0 = as 1
	ShuffleChunks int                        `json:"shuffle_chunks"`
	Auto          []string                   `json:"auto"`
	Mixed         bool                       `json:"mixed"`
	Fixed         map[string][]int           `json:"fixed"`
	Fill          map[string]json.RawMessage `json:"fill"`
	Sequences     []struct {
		Length int               `json:"length"`
		Rows   []json.RawMessage `json:"rows"`
	} `json:"sequences"`
}

// All returns the names of all cases in order.
func All(t testing.TB) []string {
	t.Helper()
	entries, err := tree(t).ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := Text(t, e.Name(), "expect.json"); ok {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("no cases in %s", archive)
	}
	return names
}

// Read returns the expectations of a case.
func Read(t testing.TB, name string) *Case {
	t.Helper()
	text, ok := Text(t, name, "expect.json")
	if !ok {
		t.Fatalf("no case %s in %s", name, archive)
	}
	c := &Case{Name: name}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatalf("%s/expect.json: %v", name, err)
	}
	return c
}

// Text returns the contents of a file of a case, and whether the case has it.
func Text(t testing.TB, name, file string) ([]byte, bool) {
	t.Helper()
	f, ok := tree(t)[path.Join(name, file)]
	if !ok {
		return nil, false
	}
	return f.Data, true
}

// Prepare copies a case to a temporary folder, replaces ${CASE} with the
// folder's path, and returns the path. Its last element is the case's name.
func Prepare(t testing.TB, name string) string {
	t.Helper()
	dst := filepath.Join(t.TempDir(), name)
	c := Read(t, name)
	for file, f := range tree(t) {
		rel, ok := strings.CutPrefix(file, name+"/")
		if !ok {
			continue
		}
		data := f.Data
		if slices.Contains(c.Properties.Substitute, rel) {
			data = bytes.ReplaceAll(data, []byte("${CASE}"), []byte(dst))
		}
		to := filepath.Join(dst, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			t.Fatal(err)
		}
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
