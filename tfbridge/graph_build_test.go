package tfbridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
)

func TestGraphInspection(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, MakeShape(-1, 3))
	y := b.constant("y", []float32{1, 2, 3})
	wait := b.op(OpSpec{Type: "NoOp"})
	add := b.op(OpSpec{Type: "AddV2", Name: "scope/add", Input: []Input{x, y}, ControlDependencies: []*Operation{wait}, Device: "/device:CPU:0"})
	split := b.op(OpSpec{Type: "Split", Name: "split", Input: []Input{b.constant("axis", int32(1)), x}, Attrs: map[string]any{"num_split": int64(3)}})
	pack := b.op(OpSpec{Type: "Pack", Name: "pack", Input: []Input{OutputList{split.Output(0), split.Output(2)}}})

	got := fmt.Sprint(add.Name(), " ", add.Type(), " ", add.Device(), " ", add.NumInputs(), " ", add.NumOutputs(), " ", add.Inputs(),
		" ", add.ControlInputs()[0].Name(), " ", add.Output(0).DataType(), " ", add.Output(0).Shape(), " ", pack.Output(0).Shape(), " ", split.Output(2))
	want := "scope/add AddV2 /device:CPU:0 2 1 [x:0 y:0] NoOp float32 [?, 3] [2, ?, 1] split:2"
	if got != want {
		t.Errorf("operation\n got %s\nwant %s", got, want)
	}
	if n, err := split.OutputListSize("output"); n != 3 || err != nil {
		t.Errorf("OutputListSize: %d, %v", n, err)
	}
	if n, err := pack.InputListSize("values"); n != 2 || err != nil {
		t.Errorf("InputListSize: %d, %v", n, err)
	}
	if _, err := pack.InputListSize("nothing"); !errors.Is(err, InvalidArgument) && !errors.Is(err, NotFound) {
		t.Errorf("InputListSize of no input: %v", err)
	}
	consumers := x.Consumers()
	if len(consumers) != 2 || consumers[0].Op.Name() != "scope/add" || consumers[1].Index != 1 || consumers[1].DataType() != Float {
		t.Errorf("Consumers: %v", consumers)
	}
	if op := b.g.Operation("scope/add"); op == nil || op.Graph() != b.g {
		t.Errorf("Operation: %v", op)
	}
	var names []string
	for _, op := range b.g.Operations() {
		names = append(names, op.Name())
	}
	if diff := cmp.Diff([]string{"x", "y", "NoOp", "scope/add", "axis", "split", "pack"}, names); diff != "" {
		t.Errorf("Operations (-want +got)\n%s", diff)
	}
	if def, err := add.NodeDef(); err != nil || !bytes.Contains(def, []byte("scope/add")) {
		t.Errorf("NodeDef: %q, %v", def, err)
	}
	if def, err := b.g.OpDef("AddV2"); err != nil || !bytes.Contains(def, []byte("AddV2")) {
		t.Errorf("OpDef: %q, %v", def, err)
	}
	if err := b.g.SetShape(x, MakeShape(7, 3)); err != nil || x.Shape().String() != "[7, 3]" {
		t.Errorf("SetShape: %v, %v", x.Shape(), err)
	}
	if err := b.g.SetShape(x, MakeShape(8, 3)); !errors.Is(err, InvalidArgument) {
		t.Errorf("SetShape to the contrary: %v", err)
	}
	if err := b.g.SetShape(x, Shape{}); err != nil {
		t.Errorf("SetShape to nothing: %v", err)
	}
}

// Every call in this table would crash, or do the wrong thing, if it reached C.
func TestGraphRefuses(t *testing.T) {
	b := newBuild(t)
	other := newBuild(t)
	foreign := other.constant("c", float32(1))
	x := b.placeholder("x", Float, ScalarShape())
	closed := newTestTensor(t, int64(1))
	closed.Close()
	typed := func(attr string, value any) OpSpec {
		return OpSpec{Type: "Placeholder", Name: "p", Attrs: map[string]any{"dtype": Float, attr: value}}
	}
	tests := []struct {
		name string
		spec OpSpec
		want string
	}{
		{"no type", OpSpec{}, "no operation type"},
		{"unknown type", OpSpec{Type: "Qwertyuiop"}, `add operation "Qwertyuiop": there is no operation type "Qwertyuiop"`},
		{"misspelt type", OpSpec{Type: "Addd"}, `there is no operation type "Addd"; did you mean "Add"?`},
		{"misspelt type at the end of the list", OpSpec{Type: "ZipDatset"}, `did you mean "ZipDataset"?`},
		{"taken name", OpSpec{Type: "NoOp", Name: "x"}, "Duplicate node name"},
		{"NUL", OpSpec{Type: "NoOp", Name: "a\x00b"}, `holds a NUL`},
		{"NUL type", OpSpec{Type: "NoOp\x00"}, `holds a NUL`},
		{"NUL device", OpSpec{Type: "NoOp", Device: "\x00"}, `holds a NUL`},
		{"NUL attribute", typed("_a\x00", 1), `holds a NUL`},
		{"nil input", OpSpec{Type: "Identity", Input: []Input{nil}}, "input 0: no output"},
		{"zero output", OpSpec{Type: "Identity", Input: []Input{Output{}}}, "input 0: no operation: it is nil"},
		{"zero operation", OpSpec{Type: "Identity", Input: []Input{Output{Op: &Operation{}}}}, "input 0: no operation"},
		{"no such output", OpSpec{Type: "Identity", Input: []Input{x.Op.Output(1)}}, `has 1 outputs, there is no output 1`},
		{"negative output", OpSpec{Type: "Identity", Input: []Input{x.Op.Output(-1)}}, `there is no output -1`},
		{"foreign output", OpSpec{Type: "Identity", Input: []Input{foreign}}, "c:0 belongs to another graph"},
		{"foreign list", OpSpec{Type: "AddN", Input: []Input{OutputList{x, foreign}}}, "c:0 belongs to another graph"},
		{"nil control", OpSpec{Type: "NoOp", ControlDependencies: []*Operation{nil}}, "it is nil"},
		{"foreign control", OpSpec{Type: "NoOp", ControlDependencies: []*Operation{foreign.Op}}, "another graph"},
		{"missing input", OpSpec{Type: "Identity"}, "0 inputs"},
		{"missing attribute", OpSpec{Type: "Placeholder"}, "missing attr 'dtype'"},
		{"unknown attribute", typed("shapes", int64(1)), `type "Placeholder" has no attribute "shapes"; it has "dtype", "shape"`},
		{"attribute of another type", typed("shape", int64(1)), "AttrValue had value with type 'int' when 'shape' expected"},
		{"attribute of no type", typed("shape", 1.5), "a graph cannot hold values of type float64"},
		{"nil attribute", typed("shape", nil), "a graph cannot hold values of type <nil>"},
		{"dimension", typed("shape", MakeShape(-2)), "below -1"},
		{"dimensions", typed("shape", MakeShape(make([]int64, 300)...)), "TensorFlow allows 254"},
		{"overflow", typed("shape", MakeShape(1<<40, -1, 1<<40)), "more elements than fit"},
		{"shapes", typed("_x", []Shape{{}, MakeShape(-3)}), "below -1"},
		{"data type 0", typed("dtype", DataType(0)), "0 is not a data type"},
		{"data type", typed("dtype", DataType(4711)), "4711 is not a data type"},
		{"data types", typed("_x", []DataType{Float, -1}), "-1 is not a data type"},
		{"nil tensor", OpSpec{Type: "Const", Attrs: map[string]any{"dtype": Float, "value": (*Tensor)(nil)}}, "tensor is nil"},
		{"closed tensor", OpSpec{Type: "Const", Attrs: map[string]any{"dtype": Float, "value": closed}}, "tensor is closed"},
		{"garbage proto", typed("shape", AttrProto("\xff\xff\xff")), "Unparseable AttrValue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(b.g.Operations())
			op, err := b.g.AddOperation(tt.spec)
			if op != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("AddOperation: got %v, %v, want %s", op, err, tt.want)
			}
			var class *millrace.Error
			if !errors.As(err, &class) {
				t.Errorf("no class: %v", err)
			}
			if after := len(b.g.Operations()); after != before {
				t.Errorf("the graph went from %d to %d operations", before, after)
			}
		})
	}
	if x := b.g.Operation("a\x00"); x != nil {
		t.Errorf("Operation of a name with NUL: %v", x)
	}
	if err := b.g.SetShape(foreign, ScalarShape()); err == nil {
		t.Error("SetShape of another graph's output succeeded")
	}
}

// A graph is read while it grows.
func TestGraphHammer(t *testing.T) {
	b := newBuild(t)
	x := b.constant("x", float32(1))
	each := 100
	if stress {
		each = 3
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range each {
				if _, err := b.g.AddOperation(OpSpec{Type: "Neg", Name: fmt.Sprintf("n%d_%d", i, j), Input: []Input{x}}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range each {
				for _, c := range x.Consumers() {
					if in := c.Op.Inputs(); len(in) != 1 || c.Op.Output(0).Shape().NumDimensions() != 0 {
						t.Errorf("%s has inputs %v", c.Op.Name(), in)
					}
				}
				if _, err := b.g.WriteTo(io.Discard); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(x.Consumers()); n != 4*each {
		t.Errorf("consumers: got %d, want %d", n, 4*each)
	}
}

func TestOutputOfNothing(t *testing.T) {
	for _, o := range []Output{{}, {Op: &Operation{}}} {
		got := fmt.Sprint(o, " ", o.DataType(), " ", o.Shape(), " ", o.Consumers())
		if want := "<none> DataType(0) ? []"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestClosedGraph(t *testing.T) {
	b := newBuild(t)
	x := b.constant("x", int64(1))
	f := b.function("f")
	for range 2 {
		if err := b.g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for _, g := range []*Graph{b.g, nil, {}} {
		_, funcErr := NewFunction(g, "f", nil, nil, nil)
		_, functionsErr := g.Functions()
		_, sessionErr := NewSession(g, nil)
		_, opErr := g.AddOperation(OpSpec{Type: "NoOp"})
		_, writeErr := g.WriteTo(nil)
		_, defErr := g.OpDef("NoOp")
		for i, err := range []error{funcErr, functionsErr, sessionErr, opErr, writeErr, defErr, g.Import([]byte("x"), ""), g.AddFunction(f)} {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("call %d on a closed graph: %v", i, err)
			}
		}
		if g.Operation("x") != nil || g.Operations() != nil || g.Close() != nil {
			t.Error("a closed graph has operations")
		}
	}
	if _, err := x.Op.Attr("value"); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Attr in a closed graph: %v", err)
	}
	if got := x.String(); got != "<none>" {
		t.Errorf("output of a closed graph: %s", got)
	}
}

func TestAttr(t *testing.T) {
	b := newBuild(t)
	b.function("f1")
	x := b.placeholder("x", Float, MakeShape(2, -1))
	y := b.op(OpSpec{Type: "ParseExampleV2", Name: "parse", Input: []Input{
		b.constant("s", []string{"a"}), b.constant("n", []string{}), b.constant("sk", []string{}), b.constant("dk", []string{"k", "l"}), b.constant("rk", []string{}),
		OutputList{b.constant("d1", []float32{}), b.constant("d2", []int64{1})},
	}, Attrs: map[string]any{
		"num_sparse": 0, "sparse_types": []DataType{}, "ragged_value_types": []DataType{}, "ragged_split_types": []DataType{},
		"Tdense": []DataType{Float, Int64}, "dense_shapes": []Shape{MakeShape(2, 3), MakeShape(1)},
	}})
	call := b.op(OpSpec{Type: "PartitionedCall", Name: "call", Input: []Input{OutputList{x}}, Attrs: map[string]any{
		"f": FuncName("f1"), "Tin": []DataType{Float}, "Tout": []DataType{Float}, "config": "c\x00d",
	}})
	pool := b.op(OpSpec{Type: "MaxPool", Name: "pool", Input: []Input{b.placeholder("img", Float, Shape{})}, Attrs: map[string]any{
		"ksize": []int64{1, 2, 2, 1}, "strides": []int64{1, 1, 1, 1}, "padding": "SAME",
	}})
	bucket := b.op(OpSpec{Type: "Bucketize", Name: "bucket", Input: []Input{x}, Attrs: map[string]any{"boundaries": []float32{1.5, 2}}})
	area := b.op(OpSpec{Type: "StringSplit", Name: "split", Input: []Input{b.constant("t", []string{"a b"}), b.constant("u", " ")}, Attrs: map[string]any{"skip_empty": false}})
	lrn := b.op(OpSpec{Type: "LRN", Name: "lrn", Input: []Input{pool.Output(0)}, Attrs: map[string]any{"alpha": float32(0.25), "depth_radius": 7}})
	reader := b.op(OpSpec{Type: "ImmutableConst", Name: "imm", Attrs: map[string]any{"dtype": Int8, "shape": ScalarShape(), "memory_region_name": ""}})

	tests := []struct {
		op   *Operation
		attr string
		want any
	}{
		{x.Op, "dtype", Float},
		{x.Op, "shape", MakeShape(2, -1)},
		{pool.Inputs()[0].Op, "shape", Shape{}},
		{y, "Tdense", []DataType{Float, Int64}},
		{y, "dense_shapes", []Shape{MakeShape(2, 3), MakeShape(1)}},
		{y, "sparse_types", []DataType(nil)},
		{y, "num_sparse", int64(0)},
		{call, "f", FuncName("f1")},
		{call, "config", "c\x00d"},
		{pool, "ksize", []int64{1, 2, 2, 1}},
		{pool, "padding", "SAME"},
		{bucket, "boundaries", []float32{1.5, 2}},
		{area, "skip_empty", false},
		{lrn, "alpha", float32(0.25)},
		{reader, "memory_region_name", ""},
		{reader, "shape", ScalarShape()},
	}
	for _, tt := range tests {
		got, err := tt.op.Attr(tt.attr)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Shape{})); diff != "" || err != nil {
			t.Errorf("%s of %s: %v (-want +got)\n%s", tt.attr, tt.op.Name(), err, diff)
		}
	}
	value, err := y.Inputs()[3].Op.Attr("value")
	if err != nil {
		t.Fatal(err)
	}
	defer value.(*Tensor).Close()
	if diff := cmp.Diff([]string{"k", "l"}, value.(*Tensor).Value()); diff != "" {
		t.Errorf("tensor (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dtype", "shape"}, x.Op.AttrNames()); diff != "" {
		t.Errorf("AttrNames (-want +got)\n%s", diff)
	}
	for _, name := range []string{"nothing", "a\x00"} {
		if v, err := x.Op.Attr(name); err == nil {
			t.Errorf("Attr(%q): %v", name, v)
		}
	}
}

// Lists of every type, read back from an operation that takes any attribute
// whose name begins with an underscore.
func TestAttrLists(t *testing.T) {
	b := newBuild(t)
	tensors := []*Tensor{b.tensor(int64(1)), b.tensor("two")}
	want := map[string]any{
		"_strings": []string{"a", "", "b\x00c"},
		"_ints":    []int64{math.MinInt64, 0},
		"_floats":  []float32{0.5},
		"_bools":   []bool{true, false},
		"_types":   []DataType{String, Variant},
		"_shapes":  []Shape{{}, ScalarShape(), MakeShape(1, -1, 3)},
		"_funcs":   []FuncName{"f", "g"},
		"_func":    FuncName("h"),
		"_none":    []int64{},
	}
	attrs := map[string]any{"_tensors": tensors}
	for name, v := range want {
		attrs[name] = v
	}
	op := b.op(OpSpec{Type: "NoOp", Name: "op", Attrs: attrs})
	for name, v := range want {
		got, err := op.Attr(name)
		if name == "_none" {
			continue // an empty list has no type
		}
		if diff := cmp.Diff(v, got, cmp.AllowUnexported(Shape{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	got, err := op.Attr("_tensors")
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.([]*Tensor) {
		if diff := cmp.Diff(tensors[i].Value(), x.Value()); diff != "" {
			t.Errorf("tensor %d (-want +got)\n%s", i, diff)
		}
		x.Close()
	}
}

// function adds a function to the graph that returns its float argument.
func (b *build) function(name string) *Function {
	b.t.Helper()
	f := identityFunction(b.t, name)
	if err := b.g.AddFunction(f); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// identityFunction makes a function, closed with the test.
func identityFunction(t testing.TB, name string) *Function {
	t.Helper()
	body := newBuild(t)
	x := body.placeholder("x", Float, Shape{})
	f, err := NewFunction(body.g, name, []Output{x}, []Output{body.out("Identity", "y", nil, x)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
