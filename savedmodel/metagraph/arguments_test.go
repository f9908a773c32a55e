package metagraph

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
	"millrace/sigdef"
)

// parsedFunction reads a function as the package reads it.
func parsedFunction(t testing.TB, def *tfproto.FunctionDef) *Function {
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
	m := New()
	m.Functions["f"] = parsedFunction(t, modeltest.Function("f", nil))
	two := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: []*tfproto.NameAttrList{{Name: "f"}, {Name: "f"}}}}}
	for _, tt := range []struct {
		name string
		node *tfproto.NodeDef
		want bool
	}{
		{"a call", modeltest.Call("c", "f", "x"), true},
		{"a stateful call", modeltest.With(modeltest.Node("c", "StatefulPartitionedCall", "x"), "f", modeltest.Func("f")), true},
		{"a map of elements", modeltest.With(modeltest.Node("c", "MapDefun", "x"), "f", modeltest.Func("f")), false},
		{"a call of two", modeltest.With(modeltest.Node("c", "PartitionedCall", "x"), "f", two), false},
		{"a call of none", modeltest.Node("c", "PartitionedCall", "x"), false},
		{"a call of what is not there", modeltest.Call("c", "g", "x"), false},
	} {
		if got := m.calleeOf(parse(t, tt.node)); (got != nil) != tt.want {
			t.Errorf("%s: it calls %v", tt.name, got)
		}
	}
}

// An argument of the inner call is followed to the main graph as long as it is passed
// on.
func TestArgumentOfAnInnerCall(t *testing.T) {
	wrapper := parsedFunction(t, modeltest.Function("wrapper", []string{"a", "b"}, modeltest.Node("n", "Identity", "a")))
	call, short := parse(t, modeltest.Call("c", "wrapper", "x:1", "y", "^z")), parse(t, modeltest.Call("c", "wrapper", "x:1"))
	inner := parse(t, modeltest.Call("i", "f", "b", "a", "n:output:0"))
	for _, tt := range []struct {
		call Node
		i    int
		want string
	}{
		{call, 0, "y:0"}, {call, 1, "x:1"}, {call, 2, ""}, {call, 3, ""}, {call, 4, ""}, {short, 0, ""}, {short, 1, "x:1"},
	} {
		if got := argumentOf(tt.call, wrapper, inner, tt.i); got != tt.want {
			t.Errorf("argument %d of %v is %q, want %q", tt.i, tt.call.Inputs, got, tt.want)
		}
	}
}

// The components are used up to the first that is not an input of the signature.
func TestInputsAreDescribed(t *testing.T) {
	named := func(name string, encoding sigdef.Encoding) sigdef.Tensor {
		return sigdef.Tensor{TensorSpec: dtype.TensorSpec{Name: name, Shape: dtype.ScalarShape()}, Node: name + ":0", Encoding: encoding}
	}
	s := &sigdef.Signature{Inputs: []sigdef.Tensor{named("a", ""), named("b", ""), named("c", "")}}
	components := []sigdef.Component{
		{Encoding: sigdef.Ragged, Name: "flat_values", First: true}, {Encoding: sigdef.Ragged, Name: "row_splits"},
		{Encoding: sigdef.Dense, First: true}, {Encoding: sigdef.Ragged, Name: "flat_values", First: true},
	}
	tensors := []string{"b:0", "c:0", "nowhere:0", "a:0"}
	New().describe(s, components, func(i int) string { return tensors[i] })
	b, c := s.Inputs[1], s.Inputs[2]
	if s.Inputs[0].Encoding != sigdef.Dense || s.Inputs[0].Whole != "" || b.Encoding != sigdef.Ragged || b.Whole != "b" || b.Component != "flat_values" ||
		c.Encoding != sigdef.Ragged || c.Whole != "b" || c.Component != "row_splits" {
		t.Errorf("inputs %+v", s.Inputs)
	}
}
