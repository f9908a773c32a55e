package inputcheck

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

func typed(dt tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: dt}}
}

// gather is a graph with a function that gathers rows of a variable, its argument. Its
// calls pass variables of the given dtypes.
func gather(variables ...tfproto.DataType) *tfproto.GraphDef {
	const f32, i32 = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT32
	g := &tfproto.GraphDef{Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
		Signature: &tfproto.OpDef{Name: "f", InputArg: []*tfproto.OpDef_ArgDef{{Name: "v", Type: tfproto.DataType_DT_RESOURCE}, {Name: "i", Type: i32}}},
		NodeDef: []*tfproto.NodeDef{
			{Name: "same", Op: "Identity", Input: []string{"v"}, Attr: map[string]*tfproto.AttrValue{"T": typed(tfproto.DataType_DT_RESOURCE)}},
			{Name: "rows", Op: "ResourceGather", Input: []string{"same:output:0", "i"}, Attr: map[string]*tfproto.AttrValue{"dtype": typed(f32), "Tindices": typed(i32)}},
		},
	}}}}
	g.Node = append(g.Node, &tfproto.NodeDef{Name: "i", Op: "Placeholder", Attr: map[string]*tfproto.AttrValue{"dtype": typed(i32)}})
	for i, dt := range variables {
		v, c := string(rune('a'+i)), string(rune('A'+i))
		g.Node = append(g.Node, &tfproto.NodeDef{Name: v, Op: "VarHandleOp", Attr: map[string]*tfproto.AttrValue{"dtype": typed(dt), "shared_name": text([]byte(v))}},
			&tfproto.NodeDef{Name: c, Op: "PartitionedCall", Input: []string{v, "i"}, Attr: map[string]*tfproto.AttrValue{
				"f": {Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f"}}},
			}})
	}
	return g
}

// A check is added only where the graph does not prove a rule. Otherwise the graph
// stays the same.
func TestChecksOfHandles(t *testing.T) {
	const f32, i64 = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT64
	for _, tt := range []struct {
		variables []tfproto.DataType
		nodes     int // number of nodes of the function, with its check
		refused   bool
	}{
		{[]tfproto.DataType{f32, f32}, 2, false},
		{[]tfproto.DataType{f32, i64}, 4, false},
		{nil, 4, false},
		{[]tfproto.DataType{i64}, 0, true},
	} {
		before := gather(tt.variables...)
		def, err := proto.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Insert(def, Options{})
		if tt.refused {
			if err == nil {
				t.Errorf("%v: no error", tt.variables)
			}
			continue
		}
		g := &tfproto.GraphDef{}
		if err != nil || proto.Unmarshal(got, g) != nil {
			t.Fatal(err)
		}
		nodes := g.Library.Function[0].NodeDef
		if len(nodes) != tt.nodes || len(nodes) == 4 && (nodes[3].Op != tfbridge.OpCheckArguments || nodes[3].Input[1] != nodes[2].Name+":value:0" || nodes[1].Input[1] != nodes[3].Name+":checked:0") {
			t.Errorf("%v: nodes %v", tt.variables, nodes)
		}
		if Remove(g); !proto.Equal(g, before) {
			t.Errorf("%v: Remove leaves %v", tt.variables, g)
		}
	}
}

// A function that only a program may call reads a variable before it assigns to it, and keeps what the
// variable has.
func TestAssignmentsOfPrograms(t *testing.T) {
	const f32, i64 = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT64
	assign := func(dt tfproto.DataType) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: "assign", Op: assignOp, Input: []string{"v", "x"}, Attr: map[string]*tfproto.AttrValue{"dtype": typed(dt)}}
	}
	scatter := &tfproto.NodeDef{Name: "scatter", Op: "ResourceScatterUpdate", Input: []string{"v", "x", "x"}, Attr: map[string]*tfproto.AttrValue{"dtype": typed(i64), "Tindices": typed(i64)}}
	generate := &tfproto.NodeDef{Name: "random", Op: generatorOp, Input: []string{"v", "a", "d"}, Attr: map[string]*tfproto.AttrValue{}}
	for _, tt := range []struct {
		nodes []*tfproto.NodeDef
		want  []string // rules
	}{
		{[]*tfproto.NodeDef{assign(f32)}, []string{"rank(1)<=128"}},
		{[]*tfproto.NodeDef{assign(i64), generate}, []string{"rank(1)<=128", "size(1)<=size(100)", "size(100)<=3"}},
		{[]*tfproto.NodeDef{assign(i64), scatter}, []string{"each(2)=slice(100)", "rank(1)<=128", "slice(1)=slice(100)"}},
	} {
		g := &tfproto.GraphDef{Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
			Signature: &tfproto.OpDef{Name: "f", InputArg: []*tfproto.OpDef_ArgDef{{Name: "v", Type: tfproto.DataType_DT_RESOURCE}, {Name: "x", Type: i64},
				{Name: "a", Type: tfproto.DataType_DT_INT32}, {Name: "d", Type: tfproto.DataType_DT_UINT64}}},
			NodeDef: tt.nodes,
		}}}}
		def, err := proto.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Insert(def, Options{})
		if err != nil || proto.Unmarshal(got, g) != nil {
			t.Fatal(err)
		}
		var rules []string
		reads := 0
		for _, n := range g.Library.Function[0].NodeDef {
			if n.Op == "ReadVariableOp" {
				reads++
			}
			if n.Op == tfbridge.OpCheckArguments {
				var spec tfbridge.CheckSpec
				if err := json.Unmarshal(n.Attr["check"].GetS(), &spec); err != nil {
					t.Fatal(err)
				}
				rules = append(rules, spec.Arguments.Rules...)
			}
		}
		slices.Sort(rules)
		if !slices.Equal(rules, tt.want) || reads != len(tt.nodes) {
			t.Errorf("%v: rules %q, %d reads; want %q", tt.nodes, rules, reads, tt.want)
		}
	}
}

// A negative number of an output, which TensorFlow refuses later, does not end the analysis.
func TestNegativeOutput(t *testing.T) {
	call := &tfproto.NodeDef{Name: "call", Op: "PartitionedCall", Attr: map[string]*tfproto.AttrValue{
		"f": {Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "f"}}},
	}}
	assign := &tfproto.NodeDef{Name: "assign", Op: assignOp, Input: []string{"call:-1", "call:-1"}, Attr: map[string]*tfproto.AttrValue{"dtype": typed(tfproto.DataType_DT_FLOAT)}}
	def, err := proto.Marshal(&tfproto.GraphDef{Node: []*tfproto.NodeDef{call, assign}, Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
		Signature: &tfproto.OpDef{Name: "f", OutputArg: []*tfproto.OpDef_ArgDef{{Name: "o", Type: tfproto.DataType_DT_RESOURCE}}},
		NodeDef:   []*tfproto.NodeDef{{Name: "v", Op: "VarHandleOp", Attr: map[string]*tfproto.AttrValue{"dtype": typed(tfproto.DataType_DT_FLOAT)}}},
		Ret:       map[string]string{"o": "v:resource:0"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Insert(def, Options{}); err != nil {
		t.Errorf("got %v, want the judgement of output 0", err)
	}
}

// Functions that call each other in many ways, and themselves, are analyzed in short
// time.
func TestFlowOfManyCalls(t *testing.T) {
	g := gather()
	f := g.Library.Function
	for i := range 60 {
		name := "g" + string(rune('0'+i))
		call := func(to string) *tfproto.NodeDef {
			return &tfproto.NodeDef{Name: to, Op: f[i].Signature.Name, Input: []string{"v", "i"}}
		}
		f = append(f, &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: name, InputArg: f[0].Signature.InputArg},
			NodeDef: []*tfproto.NodeDef{call("x"), call("y"), {Name: "z", Op: name, Input: []string{"v", "i"}}}})
	}
	g.Library.Function = f
	if newFlow(g).variable("f", "v").known {
		t.Error("a handle that nobody makes is known")
	}
}
