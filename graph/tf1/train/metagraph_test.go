package train_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph/tf1/train"
	pb "millrace/internal/base/tfproto"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// linesMeta is a pipeline written by make.py in its folder.
const linesMeta = "testdata/metagraph/lines.meta"

// readFiles allows the operations of the pipeline.
var readFiles = &savedmodel.Options{AllowOps: []string{"MatchingFiles", "TextLineReaderV2", "ReaderReadV2"}}

// A pipeline from Python runs: its local variables are initialized, its runners start, and
// the data ends.
func TestImportMetaGraph(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"one": "a\nb\nc\n", "two": "d\ne"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := train.ImportMetaGraph(linesMeta, readFiles)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Graph().Close()
	if got := len(train.Summaries(s)); got != 2 {
		t.Errorf("%d summaries, want those of 2 queues", got)
	}
	pattern, err := tfbridge.NewTensor(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	defer pattern.Close()
	m, err := train.NewMonitoredSession(t.Context(), s, &train.MonitoredSessionOptions{
		Feeds: map[tfbridge.Output]*tfbridge.Tensor{s.Graph().Operation("pattern").Output(0): pattern},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	init := s.Collection("init_op")[0].(*tfbridge.Operation)
	if _, err := m.Run(t.Context(), nil, nil, []*tfbridge.Operation{init}); err != nil {
		t.Fatal(err)
	}
	counted := s.Graph().Operation("counted").Output(0)
	var lines []string
	var last int64
	for step, err := range m.Steps(bound(t), []tfbridge.Output{s.Graph().Operation("lines").Output(0), counted}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, step[0].Value().([]string)...)
		last = max(last, step[1].Value().(int64))
	}
	if slices.Sort(lines); strings.Join(lines, "") != "aabbccddee" || last != 10 {
		t.Errorf("lines %q, %d counted", lines, last)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// rewrite changes the pipeline from Python and returns the new file.
func rewrite(t *testing.T, change func(m *pb.MetaGraphDef)) string {
	t.Helper()
	data, err := os.ReadFile(linesMeta)
	if err != nil {
		t.Fatal(err)
	}
	var m pb.MetaGraphDef
	if err := proto.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	changed, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "changed.meta")
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Without a local_init_op each local variable has its own initializer.
func TestImportMetaGraphLocalVariables(t *testing.T) {
	file := rewrite(t, func(m *pb.MetaGraphDef) { delete(m.CollectionDef, "local_init_op") })
	s, err := train.ImportMetaGraph(file, readFiles)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Graph().Close()
	if got := len(s.Initializers()); got != 2 {
		t.Errorf("%d initializers, want those of the file names and of the epochs", got)
	}
}

// A graph that reads files is refused unless its operations are allowed.
func TestImportMetaGraphRefused(t *testing.T) {
	if _, err := train.ImportMetaGraph(linesMeta, nil); !errors.Is(err, millrace.ErrUnsafeModel) {
		t.Errorf("got %v, want class ErrUnsafeModel", err)
	}
}

// A fault in a file is an error with the file's name.
func TestImportMetaGraphFaults(t *testing.T) {
	runner := func(fields ...string) []byte {
		var def []byte
		for i, f := range fields {
			def = protowire.AppendTag(def, protowire.Number(i+1), protowire.BytesType)
			def = protowire.AppendString(def, f)
		}
		return def
	}
	tests := map[string]func(m *pb.MetaGraphDef){
		"no graph":          func(m *pb.MetaGraphDef) { m.GraphDef = nil },
		"unknown operation": func(m *pb.MetaGraphDef) { nodes(m, "init_op")[0] = "elsewhere" },
		"unknown output":    func(m *pb.MetaGraphDef) { nodes(m, "summaries")[0] += "1" },
		"damaged variable": func(m *pb.MetaGraphDef) {
			delete(m.CollectionDef, "local_init_op")
			m.CollectionDef["local_variables"].GetBytesList().Value[0] = []byte("x")
		},
		"damaged runner":    func(m *pb.MetaGraphDef) { runners(m)[0] = runners(m)[0][:20] },
		"empty runner":      func(m *pb.MetaGraphDef) { runners(m)[0] = nil },
		"runner of nothing": func(m *pb.MetaGraphDef) { runners(m)[0] = runner("q", "fill", "end", "stop") },
		"runner of outputs": func(m *pb.MetaGraphDef) { runners(m)[0] = runner("q", "lines:0", "lines:0", "lines:0") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			file := rewrite(t, change)
			if _, err := train.ImportMetaGraph(file, readFiles); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "changed.meta") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := train.ImportMetaGraph("testdata/metagraph/make.py", readFiles); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a file of another kind: %v", err)
	}
}

// nodes returns the names in a collection.
func nodes(m *pb.MetaGraphDef, key string) []string { return m.CollectionDef[key].GetNodeList().Value }

// runners returns the serialized QueueRunnerDefs.
func runners(m *pb.MetaGraphDef) [][]byte {
	return m.CollectionDef["queue_runners"].GetBytesList().Value
}
