package tfbridge

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
)

// squareSum makes a function (x, y) -> x*x + y, which calls a given function.
func squareSum(t *testing.T) (outer, inner *Function) {
	t.Helper()
	inner = identityFunction(t, "inner")
	body := newBuild(t)
	if err := body.g.AddFunction(inner); err != nil {
		t.Fatal(err)
	}
	x, y := body.placeholder("x", Float, Shape{}), body.placeholder("y", Float, Shape{})
	call := body.out("PartitionedCall", "call", map[string]any{"f": FuncName("inner"), "Tin": []DataType{Float}, "Tout": []DataType{Float}}, OutputList{x})
	sum := body.out("AddV2", "sum", nil, body.out("Square", "square", nil, call), y)
	outer, err := NewFunction(body.g, "outer", []Output{x, y}, []Output{sum, x}, &FunctionOptions{OutputNames: []string{"sum", "same"}, Description: "squares"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outer.Close() })
	return outer, inner
}

func TestFunctionRuns(t *testing.T) {
	outer, inner := squareSum(t)
	b := newBuild(t)
	for _, f := range []*Function{outer, inner, outer} { // adding it again does nothing
		if err := b.g.AddFunction(f); err != nil {
			t.Fatal(err)
		}
	}
	call := b.op(OpSpec{Type: "outer", Name: "call", Input: []Input{b.constant("x", float32(3)), b.constant("y", float32(4))}})
	if got := run1(t, b.session(), nil, call.Output(0)); got != float32(13) {
		t.Errorf("outer(3, 4) = %v, want 13", got)
	}
	all, err := b.g.Functions()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range all {
		names[f.Name()] = true
		f.Close()
	}
	if diff := cmp.Diff(map[string]bool{"outer": true, "inner": true}, names); diff != "" {
		t.Errorf("Functions (-want +got)\n%s", diff)
	}
	if def, err := b.g.OpDef("outer"); err != nil || !bytes.Contains(def, []byte("same")) {
		t.Errorf("OpDef of a function: %q, %v", def, err)
	}
}

// AddGradients uses the derivative that a function was given.
func TestFunctionWithGradient(t *testing.T) {
	f := identityFunction(t, "f")
	body := newBuild(t)
	x, dy := body.placeholder("x", Float, Shape{}), body.placeholder("dy", Float, Shape{})
	gradient, err := NewFunction(body.g, "f_gradient", []Output{x, dy}, []Output{body.out("Mul", "dx", nil, x, dy)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuild(t)
	if err := b.g.AddFunctionWithGradient(f, gradient); err != nil {
		t.Fatal(err)
	}
	five := b.constant("five", float32(5))
	call := b.out("PartitionedCall", "call", map[string]any{"f": FuncName("f"), "Tout": []DataType{Float}}, OutputList{five})
	dx, err := b.g.AddGradients("", []Output{call}, []Output{five}, []Output{b.constant("seed", float32(3))})
	if err != nil {
		t.Fatal(err)
	}
	if got := run1(t, b.session(), nil, dx[0]); got != float32(15) {
		t.Errorf("derivative %v, want 15", got)
	}
	gradient.Close()
	if err := b.g.AddFunctionWithGradient(f, gradient); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("closed gradient: %v", err)
	}
	if err := b.g.AddFunctionWithGradient(f, nil); err == nil {
		t.Error("no gradient is no error")
	}
}

func TestFunctionDef(t *testing.T) {
	f := identityFunction(t, "ident")
	if err := f.SetAttr("_mark", appendVarint(nil, 3, 7)); err != nil {
		t.Fatal(err)
	}
	def, err := f.Def()
	if err != nil || !bytes.Contains(def, []byte("_mark")) {
		t.Fatalf("Def: %q, %v", def, err)
	}
	again, err := ImportFunction(def)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	b := newBuild(t)
	if err := b.g.AddFunction(again); err != nil {
		t.Fatal(err)
	}
	call := b.op(OpSpec{Type: "ident", Name: "call", Input: []Input{b.constant("x", float32(3))}})
	if got := run1(t, b.session(), nil, call.Output(0)); got != float32(3) {
		t.Errorf("ident(3) = %v", got)
	}
}

func TestFunctionControlOutputs(t *testing.T) {
	body := newBuild(t)
	x := body.placeholder("x", Float, Shape{})
	check := body.op(OpSpec{Type: "Assert", Name: "check", Input: []Input{body.constant("no", false), OutputList{x}}})
	f, err := NewFunction(body.g, "checked", []Output{x}, []Output{body.out("Identity", "y", nil, x)}, &FunctionOptions{ControlOutputs: []*Operation{check}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := newBuild(t)
	if err := b.g.AddFunction(f); err != nil {
		t.Fatal(err)
	}
	call := b.op(OpSpec{Type: "StatefulPartitionedCall", Name: "call", Input: []Input{OutputList{b.constant("x", float32(3))}},
		Attrs: map[string]any{"f": FuncName("checked"), "Tin": []DataType{Float}, "Tout": []DataType{Float}}})
	if _, err := b.session().Run(nil, []Output{call.Output(0)}, nil); !errors.Is(err, InvalidArgument) {
		t.Errorf("a function with a failing control output: %v", err)
	}
}

func TestFunctionRefuses(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, Shape{})
	y := b.out("Identity", "y", nil, x)
	foreign := newBuild(t).constant("c", int64(1))
	tests := []struct {
		name string
		in   []Output
		out  []Output
		o    *FunctionOptions
		want string
	}{
		{"foreign input", []Output{foreign}, []Output{y}, nil, "another graph"},
		{"foreign output", []Output{x}, []Output{foreign}, nil, "another graph"},
		{"nil output", []Output{x}, []Output{{}}, nil, "it is nil"},
		{"no such output", []Output{x}, []Output{y.Op.Output(3)}, nil, "there is no output 3"},
		{"few names", []Output{x}, []Output{y}, &FunctionOptions{OutputNames: []string{"a", "b"}}, "2 output names for 1 outputs"},
		{"nil control", []Output{x}, []Output{y}, &FunctionOptions{ControlOutputs: []*Operation{nil}}, "it is nil"},
		{"twice", []Output{x, x}, []Output{y}, nil, "TF_Output x:0 appears more than once"},
		{"NUL", []Output{x}, []Output{y}, nil, "holds a NUL"},
	}
	for _, tt := range tests {
		name := "f"
		if tt.name == "NUL" {
			name = "f\x00"
		}
		f, err := NewFunction(b.g, name, tt.in, tt.out, tt.o)
		if f != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %s", tt.name, f, err, tt.want)
		}
	}
	for _, def := range []string{"", "garbage"} {
		if f, err := ImportFunction([]byte(def)); err == nil {
			t.Errorf("ImportFunction(%q): %v", def, f)
		}
	}
	// Another function of the same name.
	b.function("taken")
	body := newBuild(t)
	z := body.placeholder("z", Int32, Shape{})
	f, err := NewFunction(body.g, "taken", []Output{z}, []Output{body.out("Identity", "w", nil, z)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.g.AddFunction(f); !errors.Is(err, InvalidArgument) {
		t.Errorf("AddFunction of a taken name: %v", err)
	}
	f.Close()
	for _, f := range []*Function{f, nil, {}} {
		_, defErr := f.Def()
		for i, err := range []error{b.g.AddFunction(f), f.SetAttr("a", nil), defErr} {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("call %d on a closed function: %v", i, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// graphDef returns a GraphDef of y = x + 1 with a control dependency.
func graphDef(t *testing.T) []byte {
	t.Helper()
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	wait := b.op(OpSpec{Type: "NoOp", Name: "wait"})
	b.op(OpSpec{Type: "AddV2", Name: "y", Input: []Input{x, b.constant("one", float32(1))}, ControlDependencies: []*Operation{wait}})
	var def bytes.Buffer
	if n, err := b.g.WriteTo(&def); err != nil || n != int64(def.Len()) {
		t.Fatalf("WriteTo: %d of %d bytes, %v", n, def.Len(), err)
	}
	return def.Bytes()
}

func TestImport(t *testing.T) {
	def := graphDef(t)
	b := newBuild(t)
	if err := b.g.Import(def, "a"); err != nil {
		t.Fatal(err)
	}
	two := b.constant("two", float32(2))
	trigger := b.op(OpSpec{Type: "NoOp", Name: "trigger"})
	o := GraphImportOptions{Prefix: "a", UniquifyPrefix: true, Device: "/device:CPU:0",
		ReturnOutputs: []OutputName{{"y", 0}, {"x", 0}}, ReturnOperations: []string{"one"}, ControlDependencies: []*Operation{trigger}}
	o.AddInputMapping("x", 0, two)
	o.AddInputMapping("nothing", 2, two)
	o.AddControlMapping("wait", trigger)
	r, err := b.g.ImportWithResults(def, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Outputs[0].String()+" "+r.Outputs[1].String()+" "+r.Operations[0].Name(), "a_1/y:0 two:0 a_1/one"; got != want {
		t.Errorf("results\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff([]OutputName{{"nothing", 2}}, r.UnusedMappings); diff != "" {
		t.Errorf("UnusedMappings (-want +got)\n%s", diff)
	}
	if got := r.Operations[0].Device(); got != "/device:CPU:0" {
		t.Errorf("device: got %q", got)
	}
	if controls := r.Outputs[0].Op.ControlInputs(); len(controls) != 1 || controls[0].Name() != "trigger" {
		t.Errorf("control inputs: %v", controls)
	}
	if got := run1(t, b.session(), nil, r.Outputs[0]); got != float32(3) {
		t.Errorf("2 + 1 = %v", got)
	}
}

func TestImportRefuses(t *testing.T) {
	def := graphDef(t)
	b := newBuild(t)
	b.constant("x", float32(2))
	foreign := newBuild(t).constant("c", float32(1))
	mapped := func(src string, i int, dst Output) GraphImportOptions {
		var o GraphImportOptions
		o.AddInputMapping(src, i, dst)
		return o
	}
	var control GraphImportOptions
	control.AddControlMapping("wait", nil)
	tests := []struct {
		name string
		def  []byte
		o    GraphImportOptions
		want string
	}{
		{"empty", nil, GraphImportOptions{}, "graph definition is empty"},
		{"garbage", []byte("\xff\xff"), GraphImportOptions{}, "Invalid GraphDef"},
		{"cut", def[:len(def)/2], GraphImportOptions{}, ""},
		{"taken name", def, GraphImportOptions{}, "Node name 'x' already exists"},
		{"bad prefix", def, GraphImportOptions{Prefix: "a b"}, "invalid node names"},
		{"NUL", def, GraphImportOptions{Prefix: "a\x00b"}, "holds a NUL"},
		{"foreign", def, mapped("x", 0, foreign), "map input x:0: output c:0 belongs to another graph"},
		{"zero", def, mapped("x", 0, Output{}), "it is nil"},
		{"negative", def, mapped("x", -1, b.g.Operation("x").Output(0)), "negative index"},
		{"control", def, control, "it is nil"},
		{"no output", def, GraphImportOptions{Prefix: "q", ReturnOutputs: []OutputName{{"y", 7}}}, "7"},
		{"negative output", def, GraphImportOptions{Prefix: "q", ReturnOutputs: []OutputName{{"y", -2}}}, "negative index"},
		{"no operation", def, GraphImportOptions{Prefix: "q", ReturnOperations: []string{"none"}}, "none"},
		{"nil control", def, GraphImportOptions{Prefix: "q", ControlDependencies: []*Operation{nil}}, "it is nil"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := b.g.ImportWithOptions(tt.def, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if n := len(b.g.Operations()); n != 1 {
				t.Errorf("the graph has %d operations, want 1", n)
			}
		})
	}
}

func TestOpList(t *testing.T) {
	newBuild(t)
	list, err := OpList()
	if err != nil || !bytes.Contains(list, []byte("ParseExampleDatasetV2")) {
		t.Errorf("OpList: %d bytes, %v", len(list), err)
	}
	for _, path := range []string{"/nonexistent.so", "a\x00"} {
		if _, err := LoadLibrary(path); err == nil {
			t.Errorf("LoadLibrary(%q) succeeded", path)
		}
	}
}
