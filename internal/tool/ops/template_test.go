package ops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/testruntime"
	"millrace/internal/tool/opgen"
)

// The templates' own tests pass. They run in packages of this module: in a separate
// module the go command would compile this module again.
func TestTemplatesPass(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		kind    Kind
		library func() (string, error)
		test    string // one that must have run
	}{
		{DatasetKind, myReader, "TestSavedState"},
		{RecordKind, myRecord, "TestDamagedRecord"},
		{GoKind, nil, "TestSavedState"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			dir := filepath.Join(inModule(t), "myreader")
			if _, err := New(t.Context(), dir, &NewOptions{Name: "MyReader", Kind: tt.kind}); err != nil {
				t.Fatal(err)
			}
			if got, err := NeedsBuild(dir); err != nil || got != (tt.library != nil) {
				t.Errorf("needs a build: %v, %v", got, err)
			}
			if tt.library != nil {
				copyLibrary(t, tt.library, filepath.Join(dir, "myreader.so"))
			}
			var said bytes.Buffer
			o := &TestOptions{Stdout: &said, Stderr: &said, Args: append([]string{"-vet=off", "-v"}, goFlags...)}
			if err := Test(t.Context(), dir, o); err != nil || !bytes.Contains(said.Bytes(), []byte("--- PASS: "+tt.test)) {
				t.Errorf("the tests of the template: %v\n%s", err, said.Bytes())
			}
		})
	}
}

// copyLibrary copies a library that was compiled.
func copyLibrary(t *testing.T, compiled func() (string, error), to string) {
	t.Helper()
	from, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, code, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The templates contain the functions that "millrace ops wrap" writes for their
// libraries.
func TestTemplatesAreWrapped(t *testing.T) {
	for kind, compiled := range map[Kind]func() (string, error){DatasetKind: myReader, RecordKind: myRecord} {
		library := loadOf(t, compiled)
		want, err := opgen.Wrap(library.OpList, &opgen.WrapOptions{Package: "myreader", Library: "myreader.so"})
		if err != nil {
			t.Fatal(err)
		}
		name := "_templates/" + string(kind) + "/ops_gen.go"
		got, err := templates.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("type millrace ops wrap %s --package myreader --out internal/tool/ops/%s (-want +got)\n%s", library.Path, name, diff)
		}
	}
}

// A failing test is a distinct error.
func TestFailingTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo " + goVersion + "\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) { t.Fatal(\"it fails\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	err := Test(t.Context(), dir, &TestOptions{Stdout: &said, Stderr: &said, Args: []string{"-vet=off"}})
	if !errors.Is(err, ErrTestsFailed) || !bytes.Contains(said.Bytes(), []byte("it fails")) {
		t.Errorf("got %v\n%s\nwant ErrTestsFailed", err, said.Bytes())
	}
}
