package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"

	"google.golang.org/protobuf/proto"
)

// There is a warning about signatures that do not fit the model's graph when the model
// is read for another signature.
func TestUnusableSignatures(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../../testdata/models/two_signatures")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "fingerprint.pb")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "saved_model.pb")
	read := func() string {
		t.Helper()
		var out bytes.Buffer
		if _, err := (&ModelFlags{Path: dir}).Read(&Program{Stderr: &out}, nil); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := read(); got != "" {
		t.Errorf("a sound model: %s", got)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &tfproto.SavedModel{}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	m.MetaGraphs[0].SignatureDef["explain"].Inputs["x"].Dtype = tfproto.DataType_DT_INT32
	if data, err = proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	got := read()
	for _, want := range []string{"warning: ", path + `: signature "explain"`, "the signature says int32"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want one line", got)
	}
}
