package savedmodel

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/savedmodel/sigdef"
)

// parsedFunction reads a function as the package reads it.
func parsedFunction(t testing.TB, def *tfproto.FunctionDef) *function {
	t.Helper()
	b, err := proto.Marshal(def)
	if err != nil {
		t.Fatal(err)
	}
	return parseFunction(b)
}

// Only a call takes the arguments of its function one to one. Other operations
// name functions in an attribute of the same name.
func TestCallee(t *testing.T) {
	m := newMetaGraph()
	m.functions["f"] = parsedFunction(t, functionOf("f", nil))
	two := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: []*tfproto.NameAttrList{{Name: "f"}, {Name: "f"}}}}}
	for _, tt := range []struct {
		name string
		node *tfproto.NodeDef
		want bool
	}{
		{"a call", called("c", "f", "x"), true},
		{"a stateful call", with(node("c", "StatefulPartitionedCall", "x"), "f", fn("f")), true},
		{"a map of elements", with(node("c", "MapDefun", "x"), "f", fn("f")), false},
		{"a call of two", with(node("c", "PartitionedCall", "x"), "f", two), false},
		{"a call of none", node("c", "PartitionedCall", "x"), false},
		{"a call of what is not there", called("c", "g", "x"), false},
	} {
		if got := m.calleeOf(parse(t, tt.node)); (got != nil) != tt.want {
			t.Errorf("%s: it calls %v", tt.name, got)
		}
	}
}

// An argument of the inner call is followed to the main graph as long as it is
// handed on.
func TestArgumentOfAnInnerCall(t *testing.T) {
	wrapper := parsedFunction(t, functionOf("wrapper", []string{"a", "b"}, node("n", "Identity", "a")))
	call, short := parse(t, called("c", "wrapper", "x:1", "y", "^z")), parse(t, called("c", "wrapper", "x:1"))
	inner := parse(t, called("i", "f", "b", "a", "n:output:0"))
	for _, tt := range []struct {
		call nodeDef
		i    int
		want string
	}{
		{call, 0, "y:0"}, {call, 1, "x:1"}, {call, 2, ""}, {call, 3, ""}, {call, 4, ""}, {short, 0, ""}, {short, 1, "x:1"},
	} {
		if got := argumentOf(tt.call, wrapper, inner, tt.i); got != tt.want {
			t.Errorf("argument %d of %v is %q, want %q", tt.i, tt.call.inputs, got, tt.want)
		}
	}
}

// What the components say is kept up to the first that is no input of the
// signature.
func TestInputsAreDescribed(t *testing.T) {
	named := func(name string, encoding Encoding) Tensor {
		return Tensor{TensorSpec: spec(name, 0), Node: name + ":0", Encoding: encoding}
	}
	s := &Signature{Inputs: []Tensor{named("a", ""), named("b", ""), named("c", "")}}
	components := []sigdef.Component{
		{Encoding: Ragged, Name: "flat_values", First: true}, {Encoding: Ragged, Name: "row_splits"},
		{Encoding: Dense, First: true}, {Encoding: Ragged, Name: "flat_values", First: true},
	}
	tensors := []string{"b:0", "c:0", "nowhere:0", "a:0"}
	newMetaGraph().describe(s, components, func(i int) string { return tensors[i] })
	b, c := s.Inputs[1], s.Inputs[2]
	if s.Inputs[0].Encoding != Dense || s.Inputs[0].Whole != "" || b.Encoding != Ragged || b.Whole != "b" || b.Component != "flat_values" ||
		c.Encoding != Ragged || c.Whole != "b" || c.Component != "row_splits" {
		t.Errorf("inputs %+v", s.Inputs)
	}
}
