package savedmodel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// A checkpoint is read by its prefix, completely or not at all.
func TestReadCheckpoint(t *testing.T) {
	dir := filepath.Join(copyModel(t, "linear"), "variables")
	prefix := filepath.Join(dir, "variables")
	c, err := ReadCheckpoint(prefix)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(filepath.Dir(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Variables, c.Variables); diff != "" || len(c.Variables) == 0 {
		t.Errorf("variables (-the model's +the checkpoint's)\n%s", diff)
	}
	data, err := os.Stat(prefix + ".data-00000-of-00001")
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := m.Checkpoint(); own != prefix || !ok || !m.Objects() || !c.Objects || c.Prefix != prefix || c.Bytes != data.Size() || len(c.SHA256) != 64 {
		t.Errorf("the model's checkpoint is %s, %v, with objects %v; %+v, of %d bytes", own, ok, m.Objects(), c, data.Size())
	}
	index := readFile(t, prefix+".index")
	for name, tt := range map[string]struct {
		change func()
		class  error
	}{
		"a folder that is not there": {func() { prefix = filepath.Join(dir, "none", "variables") }, millrace.ErrModel},
		"another prefix":             {func() { prefix = filepath.Join(dir, "none") }, millrace.ErrModel},
		"an index that is cut":       {func() { writeFile(t, prefix+".index", index[:40]) }, millrace.ErrTruncated},
		"data that is cut":           {func() { writeFile(t, prefix+".data-00000-of-00001", nil) }, millrace.ErrTruncated},
	} {
		tt.change()
		if c, err := ReadCheckpoint(prefix); c != nil || !errors.Is(err, millrace.ErrModel) || !errors.Is(err, tt.class) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		prefix = filepath.Join(dir, "variables")
		writeFile(t, prefix+".index", index)
	}
	without := bare(t, "constant")
	remove(t, filepath.Join(without, "variables"))
	plain, err := Read(without, nil)
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := plain.Checkpoint(); own != "" || ok || plain.Objects() {
		t.Errorf("a model without variables has the checkpoint %q, %v", own, ok)
	}
	old, err := Read(filepath.Join(models, "graph_v1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := old.Checkpoint(); own == "" || !ok || old.Objects() {
		t.Errorf("a model of TensorFlow 1 has the checkpoint %q, %v, with objects %v", own, ok, old.Objects())
	}
}

// The names of its files identify a model.
func TestIsModel(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"binary/" + binaryName, "text/" + textName, "chunked/" + chunkedName, "versions/7/" + binaryName, "words/seven/" + binaryName, "none/x"} {
		writeFile(t, filepath.Join(dir, name), nil)
	}
	for name, want := range map[string]bool{
		"binary": true, "text": true, "chunked": true, "versions": true, "words": false, "none": false, "nothing": false, "none/x": false,
	} {
		if got := IsModel(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The newest version is the one with the greatest number, not the last name.
func TestNewestVersionIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"9", "10", "010", "2"} {
		if err := os.CopyFS(filepath.Join(dir, version), os.DirFS(filepath.Join(models, "constant"))); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, filepath.Join(dir, "010"))
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "10")
	if strings.Contains(err.Error(), filepath.Join(dir, "9")) {
		t.Errorf("got %v", err)
	}
}

// Operations are counted in the graph and in functions, calls of functions not.
func TestOperationsAreCounted(t *testing.T) {
	m, err := readGraph(t, graph([]*tfproto.NodeDef{
		node("a", "Identity", "x"), node("b", "Neg", "a"), called("c", "f", "b"), called("y", "g", "c"),
	}, functionOf("f", []string{"in"}, node("n", "Neg", "in"), node("o", "Identity", "n:y:0")),
		functionOf("g", []string{"in"}, node("n", "Neg", "in"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	counts, functions := m.Operations()
	delete(counts, "Placeholder")
	if diff := cmp.Diff(map[string]int{"Identity": 2, "Neg": 3, "PartitionedCall": 2}, counts); diff != "" || functions != 2 {
		t.Errorf("%d functions, operations (-want +got)\n%s", functions, diff)
	}
}

// The copy of a model with other values has another fingerprint, which matches the new
// index.
func TestRefingerprint(t *testing.T) {
	dir := copyModel(t, "linear")
	name := filepath.Join(dir, fingerprintName)
	old, index := readFile(t, name), readFile(t, filepath.Join(dir, indexName))
	next, err := Refingerprint(old, index)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, next)
	m, err := Read(dir, nil)
	if err != nil || !m.Fingerprinted {
		t.Errorf("with the same index: %+v, %v", m, err)
	}
	var before, after tfproto.FingerprintDef
	if err := errors.Join(proto.Unmarshal(old, &before), proto.Unmarshal(next, &after)); err != nil {
		t.Fatal(err)
	}
	if after.GetUuid() == before.GetUuid() || after.GetUuid() == "" {
		t.Errorf("the identities are %q and %q", before.GetUuid(), after.GetUuid())
	}
	after.Uuid = before.GetUuid()
	if !proto.Equal(&before, &after) {
		t.Errorf("fingerprints differ in more than the identity: %v, %v", &before, &after)
	}
	other, err := Refingerprint(old, append(index, 0))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, other)
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, indexName)
	if _, err := Refingerprint([]byte("\xff"), index); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a damaged fingerprint: %v", err)
	}
}
