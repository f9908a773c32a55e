package metagraph

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
	"millrace/savedmodel/message"
)

// A function is parsed as far as needed.
func TestParseFunction(t *testing.T) {
	const text = tfproto.DataType_DT_STRING
	f := parsedFunction(t, &tfproto.FunctionDef{
		Signature: &tfproto.OpDef{
			Name: "f",
			InputArg: []*tfproto.OpDef_ArgDef{{Name: "a", Type: text}, {Name: "b", TypeAttr: "T"}, {Name: "many", Type: text, NumberAttr: "N"},
				{Name: "after", Type: text}},
			OutputArg: []*tfproto.OpDef_ArgDef{{Name: "c", Type: tfproto.DataType_DT_FLOAT}, {Name: "d", TypeAttr: "T"}},
			Attr:      []*tfproto.OpDef_AttrDef{{Name: "T", Type: "type"}, {Name: "N", Type: "int"}},
		},
		NodeDef: []*tfproto.NodeDef{modeltest.Node("n", "Identity", "a"), modeltest.Node("o", "Neg", "n:output:0")},
		Attr:    map[string]*tfproto.AttrValue{"api_implements": {Value: &tfproto.AttrValue_S{S: []byte("sort")}}, "other": modeltest.Func("g")},
		Ret:     map[string]string{"c": "o:y:0"},
	})
	if f.Name != "f" || f.Implements != "sort" || !slices.Equal(f.Counts, []string{"N"}) || len(f.Nodes) != 2 || f.Attrs["T"] != "type" || f.Attrs["N"] != "int" {
		t.Errorf("function %+v", f)
	}
	for name, want := range map[string]int{"a": 0, "b": 1, "many": -1, "after": -1, "n": -1} {
		if got := f.Input(name); got != want {
			t.Errorf("input %s is %d, want %d", name, got, want)
		}
	}
	if types, ok := f.outputTypes(); !ok || !slices.Equal(types, []int32{int32(tfproto.DataType_DT_FLOAT), 0}) {
		t.Errorf("outputs of types %v, %v", types, ok)
	}
	if n, ok := f.Node("o"); !ok || n.Op != "Neg" || !slices.Equal(n.Inputs, []string{"n:output:0"}) {
		t.Errorf("node %+v, %v", n, ok)
	}
	if n, ok := f.Node("none"); ok || n.Name != "" {
		t.Errorf("node %+v", n)
	}
	if !f.Returns("o:y:0") || f.Returns("c") || f.Returns("n:output:0") {
		t.Error("it returns something else")
	}
	for _, list := range []*tfproto.OpDef_ArgDef{{Name: "l", TypeListAttr: "Ts"}, {Name: "l", Type: text, NumberAttr: "N"}} {
		g := parsedFunction(t, &tfproto.FunctionDef{Signature: &tfproto.OpDef{OutputArg: []*tfproto.OpDef_ArgDef{{Name: "c", Type: text}, list}}})
		if types, ok := g.outputTypes(); ok {
			t.Errorf("a list of outputs has types %v", types)
		}
	}
}

// References are parsed as in TensorFlow.
func TestReferences(t *testing.T) {
	for text, want := range map[string]Ref{
		"n": {Node: "n"}, "n:0": {Node: "n"}, "n:3": {Node: "n", Port: 3}, "^n": {Node: "n", Control: true}, "": {},
		"n:": {Node: "n:"}, "n:x": {Node: "n:x"}, "n:-1": {Node: "n:-1"}, ":1": {Port: 1}, "a:b:2": {Node: "a:b", Port: 2},
		"n:2147483647": {Node: "n", Port: 1<<31 - 1}, "n:2147483648": {Node: "n:2147483648"}, "n:010": {Node: "n", Port: 10},
	} {
		if got := ParseRef(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for ref, want := range map[Ref]string{{Node: "n"}: "n:0", {Node: "n", Port: 2}: "n:2", {Node: "n", Control: true}: "^n"} {
		if got := ref.String(); got != want {
			t.Errorf("%+v: %q, want %q", ref, got, want)
		}
	}
}

// Attributes are read by their types; reading one as another type gives nothing.
func TestAttributes(t *testing.T) {
	types := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{
		I: []int64{1}, Type: []tfproto.DataType{tfproto.DataType_DT_INT32, tfproto.DataType_DT_STRING}}}}
	n := parse(t, &tfproto.NodeDef{Name: "n", Op: "O", Input: []string{"a", "b:1", "^c"}, Attr: map[string]*tfproto.AttrValue{
		"text": modeltest.Text("hi"), "number": {Value: &tfproto.AttrValue_I{I: -3}}, "type": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT64}}, "types": types}})
	if got := n.DataInputs(); !slices.Equal(got, []string{"a", "b:1"}) {
		t.Errorf("inputs %q", got)
	}
	if plain := (Node{Inputs: []string{"a", "b"}}); len(plain.DataInputs()) != 2 {
		t.Errorf("inputs %q", plain.DataInputs())
	}
	if got, ok := message.AttrString(n.Attr("text")); got != "hi" || !ok {
		t.Errorf("text %q, %v", got, ok)
	}
	if got, ok := message.AttrInt(n.Attr("number")); got != -3 || !ok {
		t.Errorf("number %d, %v", got, ok)
	}
	if got, ok := message.AttrType(n.Attr("type")); got != int32(tfproto.DataType_DT_INT64) || !ok {
		t.Errorf("type %d, %v", got, ok)
	}
	if got, ok := message.AttrTypes(n.Attr("types")); !slices.Equal(got, []int32{int32(tfproto.DataType_DT_INT32), int32(tfproto.DataType_DT_STRING)}) || !ok {
		t.Errorf("types %d, %v", got, ok)
	}
	for _, other := range []string{"text", "none"} {
		_, isInt := message.AttrInt(n.Attr(other))
		_, isType := message.AttrType(n.Attr(other))
		_, isTypes := message.AttrTypes(n.Attr(other))
		_, isText := message.AttrString(n.Attr(other))
		if isInt || isType || isTypes || isText != (other == "text") {
			t.Errorf("%s is a number %v, type %v, types %v, text %v", other, isInt, isType, isTypes, isText)
		}
	}
}

// Only a Const returns its strings, listed or as content.
func TestStringsOfConstants(t *testing.T) {
	tensor := func(dt tfproto.DataType, content string, values ...string) *tfproto.TensorProto {
		p := &tfproto.TensorProto{Dtype: dt, TensorContent: []byte(content)}
		for _, v := range values {
			p.StringVal = append(p.StringVal, []byte(v))
		}
		return p
	}
	content := func(content string, dims ...int64) *tfproto.NodeDef {
		p := tensor(tfproto.DataType_DT_STRING, content)
		p.TensorShape = &tfproto.TensorShapeProto{}
		for _, n := range dims {
			p.TensorShape.Dim = append(p.TensorShape.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
		}
		return modeltest.ConstOf("c", p)
	}
	other := modeltest.ConstOf("c", tensor(tfproto.DataType_DT_STRING, "", "a"))
	other.Op = "HostConst"
	for _, tt := range []struct {
		name string
		node *tfproto.NodeDef
		want []string
		ok   bool
	}{
		{"two", modeltest.Const("c", "a", "b"), []string{"a", "b"}, true},
		{"none", modeltest.Const("c"), nil, true},
		{"numbers", modeltest.ConstOf("c", tensor(tfproto.DataType_DT_INT32, "")), nil, false},
		{"content and a list", modeltest.ConstOf("c", tensor(tfproto.DataType_DT_STRING, "\x01a", "a")), nil, false},
		{"content of a scalar", content("\x02ab"), []string{"ab"}, true},
		{"content", content("\x01\x80\x00\x02abb", 3, 1), []string{"a", "", "bb"}, true},
		{"too little content", content("\x01\x02ab", 2), nil, false},
		{"too much content", content("\x01\x00ab", 2), nil, false},
		{"fewer lengths", content("\x00\x00", 3), nil, false},
		{"many elements", content("\x00\x00", 1<<40, 1<<40), nil, false},
		{"a long length", content("\x80\x80\x80\x80\x80\x00"), nil, false},
		{"a negative size", content("\x00", -1), nil, false},
		{"no value", modeltest.Node("c", "Const"), nil, false},
		{"another operation", other, nil, false},
	} {
		if got, ok := ConstStrings(parse(t, tt.node)); ok != tt.ok || ok && !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v", tt.name, got, ok)
		}
	}
}

// parse reads a node as the package reads it.
func parse(t testing.TB, n *tfproto.NodeDef) Node {
	t.Helper()
	b, err := proto.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return ParseNode(b)
}
