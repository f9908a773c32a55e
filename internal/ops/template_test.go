package ops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/opgen"
	"millrace/internal/test/testruntime"
)

// The template's own tests pass. They run in a package of this module: in one of
// its own the go command would compile all of ours again.
func TestTemplatePasses(t *testing.T) {
	testruntime.Need(t)
	library, err := myReader()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(inModule(t), "myreader")
	if _, err := New(t.Context(), dir, &NewOptions{Name: "MyReader"}); err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "myreader.so"), code, 0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o := &TestOptions{Stdout: &said, Stderr: &said, Args: []string{"-vet=off", "-v"}}
	if err := Test(t.Context(), dir, o); err != nil || !bytes.Contains(said.Bytes(), []byte("--- PASS: TestSavedState")) {
		t.Errorf("the tests of the template: %v\n%s", err, said.Bytes())
	}
}

// The functions that the template has are those that "millrace ops wrap" writes
// for its library.
func TestTemplateIsWrapped(t *testing.T) {
	library := load(t)
	want, err := opgen.Wrap(library.OpList, &opgen.WrapOptions{Package: "myreader", Library: "myreader.so"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := templates.ReadFile("_templates/dataset/ops_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("type millrace ops wrap %s --package myreader --out internal/ops/_templates/dataset/ops_gen.go (-want +got)\n%s", library.Path, diff)
	}
}

// A test that fails is an error of its own.
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
