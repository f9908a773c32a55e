package savedmodel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/tfproto"
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

// Every prefix of a GraphDef is refused or harmless, none ends the process.
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
