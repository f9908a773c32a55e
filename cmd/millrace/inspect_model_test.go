package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/cmd/millrace/internal/cli"
)

// inspect distinguishes a model from a dataset by the contents of the folder.
func TestInspectModel(t *testing.T) {
	versions := t.TempDir()
	if err := os.CopyFS(filepath.Join(versions, "7"), os.DirFS("../../testdata/models/linear")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"../../testdata/models/linear"}, 0, "signature serving_default"},
		{[]string{"../../testdata/models/linear", "--json"}, 0, `"key": "serving_default"`},
		{[]string{"../../testdata/models/writes_file"}, 4, "THE POLICY REFUSES THE MODEL"},
		{[]string{"../../testdata/models/linear", "--tag-set", "serve,gpu"}, 4, `no graph with the tags {"gpu", "serve"}`},
		{[]string{"../../testdata/models/linear", "--sample", "3"}, 2, "is a model, not a dataset"},
		{[]string{versions}, 4, "versions of a model"},
		{[]string{"../../examples/digits/data"}, 0, "FEATURE"},
		{[]string{t.TempDir()}, 2, "no file in this folder"},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
		if code := runLine(t.Context(), p, append([]string{"inspect"}, tt.args...)); code != tt.code {
			t.Errorf("%q: exit code %d, want %d", tt.args, code, tt.code)
		}
		if printed := stdout.String() + stderr.String(); !strings.Contains(printed, tt.want) {
			t.Errorf("%q: %s\ndoes not say %q", tt.args, printed, tt.want)
		}
	}
}
