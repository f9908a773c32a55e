package savedmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/message"
)

func TestCheckGraph(t *testing.T) {
	tests := []struct {
		name  string
		graph *tfproto.GraphDef
		allow []string
		class millrace.Class // "": none
		want  string
	}{
		{"harmless", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("x", "Placeholder"), node("y", "Neg", "x")}}, nil, "", ""},
		{"reads a file", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("f", "ReadFile", "name"), node("name", "Const")}}, nil, millrace.ErrUnsafeModel, `"ReadFile"`},
		{"allowed", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("f", "ReadFile", "name"), node("name", "Const")}}, []string{"ReadFile"}, "", ""},
		{"unknown operation", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("f", "NoSuchOp")}}, nil, millrace.ErrModel, `"NoSuchOp"`},
		{"input that is not there", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("y", "Neg", "x")}}, nil, millrace.ErrModel, `"x"`},
		{"twice the same name", &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("y", "NoOp"), node("y", "NoOp")}}, nil, millrace.ErrModel, "twice"},
		{"newer", &tfproto.GraphDef{Versions: &tfproto.VersionDef{MinConsumer: newestProducer + 1}}, nil, millrace.ErrModel, "newer TensorFlow"},
		{"hidden in a function", &tfproto.GraphDef{
			Node: []*tfproto.NodeDef{node("call", "hidden")},
			Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
				Signature: &tfproto.OpDef{Name: "hidden"},
				NodeDef:   []*tfproto.NodeDef{node("f", "WriteFile")},
			}}},
		}, nil, millrace.ErrUnsafeModel, `"WriteFile"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def, err := proto.Marshal(tt.graph)
			if err != nil {
				t.Fatal(err)
			}
			_, err = CheckGraph("it.pb", def, &Options{AllowOps: tt.allow})
			if tt.class == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `it.pb`) {
				t.Errorf("got %v, want class %s and %q", err, tt.class, tt.want)
			}
		})
	}
}

// Every prefix of a GraphDef is either refused or harmless; none ends the process.
func TestReadGraphCut(t *testing.T) {
	def, err := proto.Marshal(&tfproto.GraphDef{Node: []*tfproto.NodeDef{node("x", "Placeholder"), node("y", "Neg", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "g.pb")
	for n := range len(def) {
		if err := os.WriteFile(file, def[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadGraph(file, nil)
		if err != nil && !errors.Is(err, millrace.ErrModel) || err == nil && len(got) > n {
			t.Fatalf("the first %d bytes: %d bytes, %v", n, len(got), err)
		}
		if n == 0 && !errors.Is(err, millrace.ErrTruncated) {
			t.Errorf("no byte at all: %v", err)
		}
	}
	if _, err := ReadGraph(file, &Options{SHA256: "00"}); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "pinned") {
		t.Errorf("another pin: %v", err)
	}
}

// A graph in a file is checked like one in memory, within limits, and the checked graph
// is returned.
func TestReadGraph(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "graph.pb")
	def := marshal(t, &tfproto.GraphDef{Node: []*tfproto.NodeDef{node("x", "Placeholder"), node("y", "Neg", "x")}})
	loose := append([]byte{3 << 3, 0}, def...) // a version of 0, which is omitted
	writeFile(t, file, loose)
	got, err := ReadGraph(file, &Options{MaxBytes: int64(len(loose)), MaxNodes: 2})
	if err != nil || !bytes.Equal(got, message.Canonical(def, message.GraphDefType())) || bytes.Equal(got, loose) {
		t.Errorf("%x, %v", got, err)
	}
	_, err = ReadGraph(file, &Options{MaxBytes: int64(len(loose)) - 1})
	wantError(t, err, millrace.ErrLimit, file)
	_, err = ReadGraph(file, &Options{MaxNodes: 1})
	wantError(t, err, millrace.ErrLimit, file, "more than 1 nodes")
	for name, tt := range map[string]struct {
		def  []byte
		want string
	}{
		"text":      {[]byte("node {}"), "not a GraphDef: in GraphDef: "},
		"cut":       {def[:len(def)-1], "graph.pb ends too early or is damaged: in GraphDef: field 1 is cut off"},
		"recursion": {marshal(t, &tfproto.GraphDef{Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{functionOf("f", nil, called("c", "f"))}}}), `function "f" calls itself`},
		"unsafe":    {marshal(t, &tfproto.GraphDef{Node: []*tfproto.NodeDef{constant("x", "/x"), node("y", "ReadFile", "x")}}), `operation "ReadFile" (node "y"), which is in the graph`},
	} {
		writeFile(t, file, tt.def)
		_, err := ReadGraph(file, nil)
		wantError(t, err, millrace.Class(""), tt.want)
		if _, again := CheckGraph(file, tt.def, nil); again == nil || again.Error() != err.Error() && name != "unsafe" {
			t.Errorf("%s: in memory: %v", name, again)
		}
	}
	_, err = ReadGraph(filepath.Join(dir, "none"), nil)
	wantError(t, err, millrace.ErrModel, "there is no such file")
}

// A MetaGraphDef is returned with the checked graph.
func TestReadMetaGraph(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.meta")
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x")}).MetaGraphs[0]
	def := marshal(t, m)
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 7)
	writeFile(t, file, append(unknown, def...))
	sum := sha256.Sum256(append(unknown, def...))
	whole, graphDef, err := ReadMetaGraph(file, &Options{SHA256: hex.EncodeToString(sum[:])})
	if err != nil || !bytes.Equal(whole, message.Canonical(def, message.MetaGraphType())) || !bytes.Equal(graphDef, message.Canonical(marshal(t, m.GraphDef), message.GraphDefType())) {
		t.Errorf("%x, %x, %v", whole, graphDef, err)
	}
	_, _, err = ReadMetaGraph(file, &Options{SHA256: hex.EncodeToString(sum[:31]) + "00"})
	wantError(t, err, millrace.ErrModel, file, "pinned is")
	_, _, err = ReadMetaGraph(file+".none", nil)
	wantError(t, err, millrace.ErrModel, "there is no such file")
	m.GraphDef.Node = append(m.GraphDef.Node, node("r", "ReadFile", "x"))
	bad := marshal(t, m)
	m.GraphDef = nil
	for want, def := range map[string][]byte{
		`operation "ReadFile"`: bad, "it has no graph": marshal(t, m),
		"not a MetaGraphDef: in MetaGraphDef: ": []byte("meta_info_def {}"), "model.meta ends too early": bad[:len(bad)-1], "model.meta is empty": nil,
	} {
		writeFile(t, file, def)
		_, _, err := ReadMetaGraph(file, nil)
		wantError(t, err, millrace.Class(""), want)
	}
}
