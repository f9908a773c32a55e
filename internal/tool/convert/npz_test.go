package convert

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// converted converts files with the zero options, and returns the records.
func converted(t *testing.T, inputs ...string) (dir string, rows []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	if _, err := Run(t.Context(), inputs, dir, &Options{}); err != nil {
		t.Fatal(err)
	}
	return dir, records(t, dir)
}

// features returns dtype and shape of each feature of a manifest.
func features(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "__manifest__.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Features []struct {
			Name, DType string
			Shape       []int64
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, f := range m.Features {
		all[f.Name] = fmt.Sprint(f.DType, f.Shape)
	}
	return all
}

// TestNPZ converts arrays written by NumPy (testdata/arrays.py).
func TestNPZ(t *testing.T) {
	dir, rows := converted(t, "testdata/arrays.npz")
	want := map[string]string{
		"half": "float32[]", "x": "float32[]", "big_endian": "int32[]", "unsigned": "uint64[]", "small": "int8[]", "flag": "bool[]",
		"grid": "int64[2 3]", "columns": "float32[2 3]", "text": "string[]", "raw": "string[]", "day": "int64[]", "none": "int32[-1]",
	}
	if diff := cmp.Diff(want, features(t, dir)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	for row, parts := range [][]string{
		{"half=[][0.5][]", "x=[][0.1][]", "big_endian=[1]", "unsigned=[0]", "small=[-128]", "flag=[1]", "grid=[0 1 2 3 4 5]",
			"columns=[][0 1 2 3 4 5][]", `text=[][]["süß"]`, `raw=[][]["ab"]`, "day=[1]"},
		{"half=[][-2][]", "x=[][-Inf][]", "big_endian=[-2]", "unsigned=[-1]", "flag=[0]", "grid=[6 7 8 9 10 11]",
			"columns=[][6 7 8 9 10 11][]", `text=[][][""]`, `raw=[][]["\xff"]`, "day=[-1]"},
		{"half=[][65504][]", "small=[127]", "columns=[][12 13 14 15 16 17][]", `raw=[][][""]`, "day=[10957]"},
	} {
		for _, part := range parts {
			if !strings.Contains(rows[row], part+" ") && !strings.Contains(rows[row], part+"[") {
				t.Errorf("row %d lacks %s:\n%s", row, part, rows[row])
			}
		}
	}
}

// npy returns the file of an array.
func npy(descr, shape string, elements string) string {
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s), }\n", descr, shape)
	return fmt.Sprintf("\x93NUMPY\x01\x00%c\x00%s%s", len(dict), dict, elements)
}

// writeZip writes an archive with files of these names and contents.
func writeZip(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: pairs[i]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.npz")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Damaged and strange archives are errors that name the array.
func TestNPZFaults(t *testing.T) {
	two := npy("'|u1'", "2,", "ab")
	for _, tt := range []struct {
		name, want string
		pairs      []string
	}{
		{"not an array", `array "notes.txt": the archive holds a file that is no array`, []string{"x.npy", two, "notes.txt", "hi"}},
		{"empty", "the archive has no array", nil},
		{"rows", `array "y": it has 3 rows, and the array "x" has 2`, []string{"x.npy", two, "y.npy", npy("'|u1'", "3,", "abc")}},
		{"twice", "two arrays have this name", []string{"x.npy", two, "x.npy", two}},
		{"scalar", "a single value has no rows", []string{"x.npy", npy("'|u1'", "", "a")}},
		{"short", `array "x": it has 70 bytes, and its shape [3] says 71`, []string{"x.npy", npy("'|u1'", "3,", "ab")}},
		{"objects", "its elements are Python objects", []string{"x.npy", npy("'|O'", "3,", "ab")}},
		{"structures", "save each field as an array of its own", []string{"x.npy", npy("[('a', '<i4')]", "1,", "abcd")}},
		{"complex", "elements of dtype c8 have no place", []string{"x.npy", npy("'<c8'", "1,", "abcdefgh")}},
		{"huge", "is too large", []string{"x.npy", npy("'<i8'", "9223372036854775807, 9", "")}},
		{"huge row", "a row of 80000000000 bytes is too large", []string{"x.npy", npy("'<i8'", "1, 10000000000", "")}},
		{"magic", "it does not begin as a NumPy array does", []string{"x.npy", "text"}},
		{"cut header", `array "x": `, []string{"x.npy", two[:30]}},
		{"no shape", "its header has no descr, fortran_order and shape", []string{"x.npy", strings.Replace(two, "'shape'", "'shade'", 1)}},
		{"too large a float", `row 1, column "x": 1e+300 does not fit a float32`, []string{"x.npy", npy("'<f8'", "1,", "\x9c\x75\x00\x88\x3c\xe4\x37\x7e")}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		path := writeZip(t, tt.pairs...)
		_, err := Run(t.Context(), []string{path}, out, &Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v\nwant %s in it", tt.name, err, tt.want)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: the folder is there: %v", tt.name, err)
		}
	}
}

// A flipped bit of the elements breaks the archive's checksum.
func TestNPZChecksum(t *testing.T) {
	path := writeZip(t, "x.npy", npy("'|u1'", "4,", "abcd"))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("abcd"), []byte("abed"), 1)
	// The archive is not compressed, so that its bytes can be changed directly.
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []string{path}, filepath.Join(t.TempDir(), "out"), &Options{}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v, want that the checksum is wrong", err)
	}
}

// A shape is too large where 64 bits do not hold the number of its bytes.
func TestArraySize(t *testing.T) {
	for _, tt := range []struct {
		size  int
		shape []int64
		fits  bool
	}{
		{1, []int64{math.MaxInt64}, true}, {0, []int64{math.MaxInt64, 0}, true}, {8, []int64{math.MaxInt64 / 8, 1}, true},
		{2, []int64{math.MaxInt64}, false}, {1, []int64{math.MaxInt64, 2}, false}, {8, []int64{0, math.MaxInt64}, false},
	} {
		a := &npyArray{size: tt.size, shape: tt.shape}
		if err := a.checkSize(); (err == nil) != tt.fits {
			t.Errorf("%d bytes of shape %v: %v", tt.size, tt.shape, err)
		}
	}
}
