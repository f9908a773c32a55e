package savedmodel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// wantWarnings checks that a model has exactly these warnings.
func wantWarnings(t *testing.T, m *Model, parts ...string) {
	t.Helper()
	for i, w := range m.Warnings {
		if i >= len(parts) || !strings.Contains(w.Error(), parts[i]) {
			t.Errorf("warning %q, want %q", w, parts)
		}
	}
	if len(m.Warnings) < len(parts) {
		t.Errorf("%d warnings, want %q", len(m.Warnings), parts)
	}
}

// E02: TensorFlow reads saved_model.pb and does not look at saved_model.pbtxt.
func TestBothForms(t *testing.T) {
	dir := copyModel(t, "linear")
	writeFile(t, filepath.Join(dir, textName), []byte("no protobuf at all"))
	m, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings(t, m, "both saved_model.pb and saved_model.pbtxt")
}

// E08: the meta graph that TensorFlow selects.
func TestReadTags(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x")})
	plain := m.MetaGraphs[0]
	tagged := func(tags ...string) *tfproto.MetaGraphDef {
		g := proto.CloneOf(plain)
		g.MetaInfoDef = &tfproto.MetaGraphDef_MetaInfoDef{Tags: tags, TensorflowVersion: "of " + strings.Join(tags, "+")}
		return g
	}
	serve, train, gpu, none := tagged("serve"), tagged("train"), tagged("serve", "gpu"), tagged()
	again := tagged("gpu", "serve")
	again.MetaInfoDef.TensorflowVersion = "the second"
	tests := []struct {
		name    string
		graphs  []*tfproto.MetaGraphDef
		tags    []string
		want    string // version of the selected graph
		warning string
		err     string
	}{
		{"by default", []*tfproto.MetaGraphDef{train, serve}, nil, "of serve", "", ""},
		{"by its tags", []*tfproto.MetaGraphDef{train, serve}, []string{"train"}, "of train", "", ""},
		{"in any order", []*tfproto.MetaGraphDef{serve, gpu}, []string{"serve", "gpu", "serve"}, "of serve+gpu", "", ""},
		{"the only one", []*tfproto.MetaGraphDef{train}, nil, "of train", `the tags {"train"} and not {"serve"}`, ""},
		{"the only one without tags", []*tfproto.MetaGraphDef{none}, nil, "of ", "the tags {}", ""},
		{"without tags", []*tfproto.MetaGraphDef{serve, none}, []string{}, "of ", "", ""},
		{"the first of two", []*tfproto.MetaGraphDef{serve, gpu, again}, []string{"serve", "gpu"}, "of serve+gpu", "several graphs", ""},
		{"none by default", []*tfproto.MetaGraphDef{train, gpu}, nil, "", "", `no graph with the tags {"serve"}; there is {"train"}, {"gpu", "serve"}`},
		{"none of the tags", []*tfproto.MetaGraphDef{serve}, []string{"serve", "gpu"}, "", "", `no graph with the tags {"gpu", "serve"}; there is {"serve"}`},
		{"no graph", nil, nil, "", "", "holds no graph"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readGraph(t, &tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: tt.graphs}, &Options{Tags: tt.tags})
			if tt.err != "" {
				wantError(t, err, millrace.ErrModel, tt.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.TensorFlow != tt.want || len(got.TagSets) != len(tt.graphs) {
				t.Errorf("took the graph %q of %q, want %q", got.TensorFlow, got.TagSets, tt.want)
			}
			wantWarnings(t, got, slices.DeleteFunc([]string{tt.warning}, func(w string) bool { return w == "" })...)
		})
	}
}

// Unchecked reads models that the policy refuses, and reports the refusals.
func TestUnchecked(t *testing.T) {
	writes, err := Read(filepath.Join(models, "writes_file"), &Options{Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(writes.Refused) != 1 || !strings.Contains(writes.Refused[0].Error(), `operation "ReadFile"`) || writes.Program() == nil {
		t.Errorf("refused: %q", writes.Refused)
	}
	sound, err := Read(filepath.Join(models, "linear"), &Options{Unchecked: true})
	if err != nil || len(sound.Refused) != 0 {
		t.Errorf("a sound model: %v, %v", sound.Refused, err)
	}
	_, err = Read(filepath.Join(models, "recursive"), &Options{Unchecked: true})
	wantError(t, err, millrace.ErrModel, "calls itself") // it would crash TensorFlow

	lethal := graph([]*tfproto.NodeDef{with(node("y", "StringJoin", "x"), "N", &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: 1 << 40}})})
	_, err = readGraph(t, lethal, &Options{Unchecked: true})
	wantError(t, err, millrace.ErrLimit, `attribute "N" is `) // so would this one
	resource := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), constantOf("c", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE})})
	odd, err := readGraph(t, resource, &Options{Unchecked: true})
	if err != nil || len(odd.Refused) != 1 || !strings.Contains(odd.Refused[0].Error(), "a constant of dtype resource") {
		t.Errorf("refused: %v, %v", odd, err)
	}

	dir := bare(t, "linear")
	outside := filepath.Join(t.TempDir(), "outside")
	index := filepath.Join(dir, indexName)
	if err := errors.Join(os.Rename(index, outside), os.Symlink(outside, index)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, nil); err == nil {
		t.Error("a link out of the folder is followed")
	}
	linked, err := Read(dir, &Options{Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(linked.Refused) == 0 || !strings.Contains(linked.Refused[0].Error(), "symbolic link") {
		t.Errorf("refused: %q", linked.Refused)
	}
	stage, err := linked.Stage()
	if err != nil {
		t.Fatal(err)
	}
	stage.Close()

	other := copyModel(t, "linear")
	writeFile(t, filepath.Join(other, fingerprintName), readFile(t, filepath.Join(models, "constant", fingerprintName)))
	changed, err := Read(other, &Options{Unchecked: true})
	if err != nil || changed.Fingerprinted || len(changed.Refused) != 1 || !strings.Contains(changed.Refused[0].Error(), "does not match the checksum") {
		t.Errorf("with another fingerprint: %+v, %v", changed, err)
	}
}
