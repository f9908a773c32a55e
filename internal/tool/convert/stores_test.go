package convert

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/remotetest"
)

// Inputs in a store become the records of the same files on a disk: of each format, and of
// folders.
func TestInputsInStore(t *testing.T) {
	s := remotetest.NewServer()
	s.Register(t)
	onDisk := writeArrow(t, threeRows)
	local := t.TempDir()
	arrays, err := os.ReadFile("testdata/arrays.npz")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"t.csv": []byte("a,b\n1,x\n2,y\n"), "t.ndjson": []byte("{\"a\":1,\"b\":\"x\"}\n"), "t.npz": arrays, "t.wav": wav(wavInteger, 1, 16, []byte{0, 1, 2, 3}),
	} {
		onDisk[name] = filepath.Join(local, name)
		if err := os.WriteFile(onDisk[name], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range onDisk {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Put("/rows/"+filepath.Base(path), data)
		want, got := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
		if _, err := Run(t.Context(), []string{path}, want, &Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Run(t.Context(), []string{"s3://rows/" + filepath.Base(path)}, got, &Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a, b := records(t, got), records(t, want); !slices.Equal(withoutPaths(a), withoutPaths(b)) || len(a) == 0 {
			t.Errorf("%s: got %q, want %q", name, a, b)
		}
	}
	s.Put("/days/1/a.csv", []byte("a\n1\n"))
	s.Put("/days/2/b.csv", []byte("a\n2\n"))
	s.Put("/days/.hidden.csv", []byte("c\n2\n"))
	s.Put("/days/notes.txt", []byte("no data"))
	report, err := Run(t.Context(), []string{"s3://days"}, filepath.Join(t.TempDir(), "out"), &Options{})
	if err != nil || report.Rows != 2 {
		t.Errorf("a folder: %+v, %v", report, err)
	}
	report, err = Run(t.Context(), []string{"s3://days/1/a.csv"}, "s3://days/out", &Options{})
	if err != nil || report.Rows != 1 {
		t.Errorf("from a store to a store: %+v, %v", report, err)
	}
	if _, err := Run(t.Context(), []string{"s3://days/3.csv"}, filepath.Join(t.TempDir(), "out"), &Options{}); err == nil || !strings.Contains(err.Error(), "s3://days/3.csv: ") {
		t.Errorf("a missing object: %v", err)
	}
}

// withoutPaths returns records without the path that files have as a column.
func withoutPaths(records []string) []string {
	return slices.DeleteFunc(slices.Clone(records), func(r string) bool { return strings.Contains(r, "t.wav") })
}

// A store that refuses in the middle is an error with the URL, not one of the format.
func TestInputsLost(t *testing.T) {
	s := remotetest.NewServer()
	s.Register(t)
	for name, path := range writeArrow(t, threeRows) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		url := "s3://rows/" + filepath.Base(path)
		s.Put("/rows/"+filepath.Base(path), data)
		s.Fault = func(_ int, r *http.Request) (f remotetest.Fault) {
			if r.Method == http.MethodGet {
				f = remotetest.Fault{Status: 403, Code: "AccessDenied"}
			}
			return f
		}
		_, err = Run(t.Context(), []string{url}, filepath.Join(t.TempDir(), "out"), &Options{})
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrIO || e.File != url {
			t.Errorf("%s: %v", name, err)
		}
		s.Fault = nil
	}
}
