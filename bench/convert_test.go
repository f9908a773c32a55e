package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/tool/convert"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// Records are the same if their values are, whatever the order of the features. A
// changed value, a changed order and a missing record are noticed.
func TestSameRecords(t *testing.T) {
	x := example.Named{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: []float32{1, 2}}}
	y := example.Named{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{3}}}
	z := example.Named{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{4}}}
	tests := []struct {
		name    string
		records [][]byte
		want    string // words of the error; "": no error
	}{
		{"features in another order", [][]byte{example.Marshal([]example.Named{y, x}), example.Marshal([]example.Named{z})}, ""},
		{"another value", [][]byte{example.Marshal([]example.Named{x, z}), example.Marshal([]example.Named{z})}, "other values"},
		{"another order", [][]byte{example.Marshal([]example.Named{z}), example.Marshal([]example.Named{x, y})}, "other values"},
		{"one record less", [][]byte{example.Marshal([]example.Named{x, y})}, "1 records, want 2"},
		{"no Example", [][]byte{{0xff}, example.Marshal([]example.Named{z})}, "record 0"},
	}
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	write := func(path string, records [][]byte) {
		t.Helper()
		if err := writeRecords(path, 0, len(records), func(n int) []byte { return records[n] }); err != nil {
			t.Fatal(err)
		}
	}
	write(first, [][]byte{example.Marshal([]example.Named{x, y}), example.Marshal([]example.Named{z})})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			second := filepath.Join(dir, "second")
			write(second, test.records)
			err := sameRecords(2, first, second)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// The table has the types that its columns are meant to have, without missing values.
func TestTableRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	text := []byte(tableHead)
	for row := range 100 {
		text = appendTableRow(text, row, rng)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "table.csv")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	report, err := convert.Run(t.Context(), []string{path}, filepath.Join(dir, "out"), &convert.Options{})
	if err != nil || report.Rows != 100 {
		t.Fatal(report, err)
	}
	m, problems := spec.ReadManifest(filepath.Join(dir, "out", spec.ManifestName))
	if m == nil {
		t.Fatal(problems)
	}
	var got []string
	for _, f := range m.Features {
		got = append(got, fmt.Sprint(f.Name, " ", f.DType, f.Shape))
	}
	want := []string{"id int64[]", "title string[]", "genre string[]", "year int64[]", "plays int64[]", "live bool[]",
		"loud float32[]", "tempo float32[]", "length float32[]", "score float32[]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the manifest (-want +got):\n%s", diff)
	}
}
