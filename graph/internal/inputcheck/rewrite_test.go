package inputcheck

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// calls makes a node that calls a function.
func calls(op, callee string) *tfproto.NodeDef {
	f := &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: callee}}}
	return &tfproto.NodeDef{Name: "n", Op: op, Attr: map[string]*tfproto.AttrValue{"f": f}}
}

// Loops, and the calls around them, become operations that constant folding leaves alone.
// Other calls stay as they are.
func TestLoopsAreKept(t *testing.T) {
	function := func(name string, body *tfproto.NodeDef) *tfproto.FunctionDef {
		return &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: name}, NodeDef: []*tfproto.NodeDef{body}}
	}
	g := &tfproto.GraphDef{
		Node: []*tfproto.NodeDef{calls("PartitionedCall", "outer"), calls("StatelessIf", "plain"), {Name: "direct", Op: "outer"}},
		Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{
			function("outer", calls("StatelessCase", "inner")), function("inner", calls("StatelessWhile", "plain")), function("plain", calls("PartitionedCall", "leaf")),
			function("leaf", &tfproto.NodeDef{Name: "n", Op: "Abs"}),
		}},
	}
	def, err := proto.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	if def, err = Insert(def, Options{}); err != nil {
		t.Fatal(err)
	}
	got := &tfproto.GraphDef{}
	if err := proto.Unmarshal(def, got); err != nil {
		t.Fatal(err)
	}
	f := got.Library.Function
	for _, tt := range []struct {
		n    *tfproto.NodeDef
		want string
	}{{got.Node[0], "StatefulPartitionedCall"}, {got.Node[1], "StatelessIf"}, {f[0].NodeDef[0], "Case"}, {f[1].NodeDef[0], "While"}, {f[2].NodeDef[0], "PartitionedCall"}} {
		if tt.n.Op != tt.want {
			t.Errorf("operation %s, want %s", tt.n.Op, tt.want)
		}
	}
	if !f[0].Signature.IsStateful || !f[1].Signature.IsStateful || f[2].Signature.IsStateful || f[3].Signature.IsStateful {
		t.Error("functions with loops keep state, the others do not")
	}
}

// XLA is not requested unless the caller allows it.
func TestCompilerIsDropped(t *testing.T) {
	yes := &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: true}}
	attrs := func() map[string]*tfproto.AttrValue {
		return map[string]*tfproto.AttrValue{"_XlaMustCompile": yes, "_kept": yes}
	}
	def, err := proto.Marshal(&tfproto.GraphDef{
		Node: []*tfproto.NodeDef{{Name: "n", Op: "Abs", Attr: attrs()}},
		Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{Signature: &tfproto.OpDef{Name: "f"}, Attr: attrs(),
			NodeDef: []*tfproto.NodeDef{{Name: "m", Op: "Abs", Attr: attrs()}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for compile, want := range map[bool]int{false: 1, true: 2} {
		out, err := Insert(def, Options{Compile: compile})
		if err != nil {
			t.Fatal(err)
		}
		g := &tfproto.GraphDef{}
		if err := proto.Unmarshal(out, g); err != nil {
			t.Fatal(err)
		}
		f := g.Library.Function[0]
		if len(g.Node[0].Attr) != want || len(f.Attr) != want || len(f.NodeDef[0].Attr) != want {
			t.Errorf("compile %v: %v, %v, %v", compile, g.Node[0].Attr, f.Attr, f.NodeDef[0].Attr)
		}
	}
}
