package savedmodel

import (
	"slices"
	"testing"

	"millrace/internal/base/tfproto"
)

// A function is read as far as it is asked about.
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
		NodeDef: []*tfproto.NodeDef{node("n", "Identity", "a"), node("o", "Neg", "n:output:0")},
		Attr:    map[string]*tfproto.AttrValue{"api_implements": {Value: &tfproto.AttrValue_S{S: []byte("sort")}}, "other": fn("g")},
		Ret:     map[string]string{"c": "o:y:0"},
	})
	if f.name != "f" || f.implements != "sort" || !slices.Equal(f.counts, []string{"N"}) || len(f.nodes) != 2 || f.attrs["T"] != "type" || f.attrs["N"] != "int" {
		t.Errorf("function %+v", f)
	}
	for name, want := range map[string]int{"a": 0, "b": 1, "many": -1, "after": -1, "n": -1} {
		if got := f.input(name); got != want {
			t.Errorf("input %s is %d, want %d", name, got, want)
		}
	}
	if types, ok := f.outputTypes(); !ok || !slices.Equal(types, []int32{int32(tfproto.DataType_DT_FLOAT), 0}) {
		t.Errorf("outputs of types %v, %v", types, ok)
	}
	if n, ok := f.node("o"); !ok || n.op != "Neg" || !slices.Equal(n.inputs, []string{"n:output:0"}) {
		t.Errorf("node %+v, %v", n, ok)
	}
	if n, ok := f.node("none"); ok || n.name != "" {
		t.Errorf("node %+v", n)
	}
	if !f.returns("o:y:0") || f.returns("c") || f.returns("n:output:0") {
		t.Error("it returns something else")
	}
	for _, list := range []*tfproto.OpDef_ArgDef{{Name: "l", TypeListAttr: "Ts"}, {Name: "l", Type: text, NumberAttr: "N"}} {
		g := parsedFunction(t, &tfproto.FunctionDef{Signature: &tfproto.OpDef{OutputArg: []*tfproto.OpDef_ArgDef{{Name: "c", Type: text}, list}}})
		if types, ok := g.outputTypes(); ok {
			t.Errorf("a list of outputs has types %v", types)
		}
	}
}

// References are read as TensorFlow reads them.
func TestReferences(t *testing.T) {
	for text, want := range map[string]tensorRef{
		"n": {node: "n"}, "n:0": {node: "n"}, "n:3": {node: "n", port: 3}, "^n": {node: "n", control: true}, "": {},
		"n:": {node: "n:"}, "n:x": {node: "n:x"}, "n:-1": {node: "n:-1"}, ":1": {port: 1}, "a:b:2": {node: "a:b", port: 2},
		"n:2147483647": {node: "n", port: 1<<31 - 1}, "n:2147483648": {node: "n:2147483648"}, "n:010": {node: "n", port: 10},
	} {
		if got := parseRef(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for ref, want := range map[tensorRef]string{{node: "n"}: "n:0", {node: "n", port: 2}: "n:2", {node: "n", control: true}: "^n"} {
		if got := ref.String(); got != want {
			t.Errorf("%+v: %q, want %q", ref, got, want)
		}
	}
}

// Attributes are read by their types; what an attribute is not, it is not.
func TestAttributes(t *testing.T) {
	types := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{
		I: []int64{1}, Type: []tfproto.DataType{tfproto.DataType_DT_INT32, tfproto.DataType_DT_STRING}}}}
	n := parse(t, &tfproto.NodeDef{Name: "n", Op: "O", Input: []string{"a", "b:1", "^c"}, Attr: map[string]*tfproto.AttrValue{
		"text": text("hi"), "number": {Value: &tfproto.AttrValue_I{I: -3}}, "type": {Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT64}}, "types": types}})
	if got := n.dataInputs(); !slices.Equal(got, []string{"a", "b:1"}) {
		t.Errorf("inputs %q", got)
	}
	if plain := (nodeDef{inputs: []string{"a", "b"}}); len(plain.dataInputs()) != 2 {
		t.Errorf("inputs %q", plain.dataInputs())
	}
	if got, ok := attrString(n.attr("text")); got != "hi" || !ok {
		t.Errorf("text %q, %v", got, ok)
	}
	if got, ok := attrInt(n.attr("number")); got != -3 || !ok {
		t.Errorf("number %d, %v", got, ok)
	}
	if got, ok := attrType(n.attr("type")); got != int32(tfproto.DataType_DT_INT64) || !ok {
		t.Errorf("type %d, %v", got, ok)
	}
	if got, ok := attrTypes(n.attr("types")); !slices.Equal(got, []int32{int32(tfproto.DataType_DT_INT32), int32(tfproto.DataType_DT_STRING)}) || !ok {
		t.Errorf("types %d, %v", got, ok)
	}
	for _, other := range []string{"text", "none"} {
		_, isInt := attrInt(n.attr(other))
		_, isType := attrType(n.attr(other))
		_, isTypes := attrTypes(n.attr(other))
		_, isText := attrString(n.attr(other))
		if isInt || isType || isTypes || isText != (other == "text") {
			t.Errorf("%s is a number %v, type %v, types %v, text %v", other, isInt, isType, isTypes, isText)
		}
	}
}

// Only a Const of strings that are written as such tells its strings.
func TestStringsOfConstants(t *testing.T) {
	tensor := func(dt tfproto.DataType, content string, values ...string) *tfproto.TensorProto {
		p := &tfproto.TensorProto{Dtype: dt, TensorContent: []byte(content)}
		for _, v := range values {
			p.StringVal = append(p.StringVal, []byte(v))
		}
		return p
	}
	other := constantOf("c", tensor(tfproto.DataType_DT_STRING, "", "a"))
	other.Op = "HostConst"
	for _, tt := range []struct {
		name string
		node *tfproto.NodeDef
		want []string
		ok   bool
	}{
		{"two", constant("c", "a", "b"), []string{"a", "b"}, true},
		{"none", constant("c"), nil, true},
		{"numbers", constantOf("c", tensor(tfproto.DataType_DT_INT32, "")), nil, false},
		{"content", constantOf("c", tensor(tfproto.DataType_DT_STRING, "\x01a", "a")), nil, false},
		{"no value", node("c", "Const"), nil, false},
		{"another operation", other, nil, false},
	} {
		if got, ok := constStrings(parse(t, tt.node)); ok != tt.ok || ok && !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v", tt.name, got, ok)
		}
	}
}
