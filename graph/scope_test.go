package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// A value is visible in the scopes derived from the one that has it, function bodies
// included, and in no others.
func TestValues(t *testing.T) {
	s := graphtest.NewScope(t)
	type key struct{}
	with := s.WithValue(key{}, 1)
	inner := with.SubScope("sub").WithDevice("/cpu:0").WithValue("other", 2)
	var body any
	inner.Func("f", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
		body = s.Value(key{})
		return []tfbridge.Output{s.Const(int32(0))}
	})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	got := []any{s.Value(key{}), with.Value(key{}), inner.Value(key{}), body, with.Value("other"), inner.Value("other"), inner.WithValue(key{}, nil).Value(key{})}
	if want := []any{nil, 1, 1, 1, nil, 2, nil}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if none := (*graph.Scope)(nil).WithValue(key{}, 1).Value(key{}); none != nil {
		t.Errorf("a nil scope has %v", none)
	}
}

// Scopes of a graph share its collections; a function's body has none.
func TestCollections(t *testing.T) {
	s := graphtest.NewScope(t)
	s.AddToCollection("words", "mill")
	s.SubScope("sub").AddToCollection("words", "race")
	s.Collection("words")[0] = "changed"
	if got, want := s.Collection("words"), []any{"mill", "race"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.Collection("other"); len(got) != 0 {
		t.Errorf("an empty collection is %v", got)
	}
	s.Func("body", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
		s.AddToCollection("words", "lost")
		return []tfbridge.Output{s.Const(int32(1))}
	})
	if err := s.Err(); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a collection in a function: %v", err)
	}
}

func TestNames(t *testing.T) {
	s := graphtest.NewScope(t)
	sub := s.SubScope("parse")
	tests := []struct {
		scope *graph.Scope
		name  string
		want  string
	}{
		{s, "", "Const"},
		{s, "", "Const_1"},
		{s, "x", "x"},
		{s, "x_1", "x_1"},
		{s, "x", "x_2"},
		{sub, "x", "parse/x"},
		{s.SubScope("parse"), "x", "parse_1/x"},
		{sub.SubScope("deep"), "x", "parse/deep/x"},
		{s, "größe (mm)", "gr__e__mm_"},
		{s, "_x", "n_x"},
		{s.SubScope("a b"), "", "a_b/Const"},
	}
	for _, tt := range tests {
		op := tt.scope.AddOperation(tfbridge.OpSpec{
			Type: "Const", Name: tt.name,
			Attrs: map[string]any{"dtype": tfbridge.Float, "value": tensor(t, float32(1))},
		})
		if op == nil {
			t.Fatal(s.Err())
		}
		if op.Name() != tt.want {
			t.Errorf("name of %q\n got %s\nwant %s", tt.name, op.Name(), tt.want)
		}
	}
}

// tensor returns a tensor that is closed with the test.
func tensor(t testing.TB, value any) *tfbridge.Tensor {
	t.Helper()
	v, err := tfbridge.NewTensor(value)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func TestNamesOfAnExistingGraph(t *testing.T) {
	s := graphtest.NewScope(t)
	s.Const(int32(1))
	again := graph.NewScopeWithGraph(s.Graph())
	if name := again.Const(int32(2)).Op.Name(); name != "Const_1" {
		t.Errorf("name\n got %s\nwant Const_1", name)
	}
}

func TestFirstErrorSticks(t *testing.T) {
	s := graphtest.NewScope(t)
	sub := s.SubScope("sub")
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(2))
	y := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(3))
	sum := graph.Add(sub, x, y)
	if sum.Op != nil {
		t.Errorf("an operation that failed gave %v", sum)
	}
	first := s.Err()
	if first == nil || !strings.Contains(first.Error(), "sub/AddV2") {
		t.Fatalf("error\n got %v\nwant one that names sub/AddV2", first)
	}
	if !errors.Is(first, millrace.ErrModel) || !errors.Is(first, tfbridge.InvalidArgument) {
		t.Errorf("classes of %v", first)
	}
	s.UpdateErr("later", errors.New("second"))
	if s.Err() != first || sub.Err() != first {
		t.Errorf("error\n got %v\nwant the first one, %v", s.Err(), first)
	}
	if _, err := s.Finalize(); err != first {
		t.Errorf("Finalize\n got %v\nwant %v", err, first)
	}
}

func TestNothingHappensAfterAnError(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const([]float32{1, 2})
	s.UpdateErr("here", errors.New("stop"))
	ops := len(s.Graph().Operations())
	zero := graph.Add(s, x, x)
	outputs := []tfbridge.Output{
		zero, graph.Cast(s, zero, tfbridge.Int32), graph.Subscript(s, zero, graph.At(0)),
		graph.ReduceAll(s, zero), graph.ReduceSum(s, x), graph.ConcatV2(s, []tfbridge.Output{zero, x}, 0),
		s.Zeros(tfbridge.String, 2), s.Const("x"), graph.Unpack(s, x, 2, 0)[1],
		graph.StatelessRandomUniformInt(s, x, x, x, x),
		graph.ParseExampleV2(s, zero, &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "a"}}}).Dense[0],
	}
	for i, o := range outputs {
		if o != (tfbridge.Output{}) {
			t.Errorf("output %d is %v", i, o)
		}
	}
	called := false
	f := s.Func("f", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
		called = true
		return nil
	})
	if called || f.Name != "" || graph.Call(s, f)[0].Op != nil {
		t.Errorf("Func after an error: called %t, named %q", called, f.Name)
	}
	if graph.Assert(s, zero, nil, nil) != nil || graph.NoOp(s, nil) != nil {
		t.Error("operation after an error")
	}
	if n := len(s.Graph().Operations()); n != ops {
		t.Errorf("%d operations added after an error", n-ops)
	}
}

func TestMistakes(t *testing.T) {
	other := graphtest.NewScope(t)
	foreign := other.Const(int32(1))
	tests := []struct {
		name  string
		build func(s *graph.Scope)
		want  string
	}{
		{"no output", func(s *graph.Scope) { graph.Identity(s, tfbridge.Output{}) }, "Identity: input 0: the output is not set"},
		{"other graph", func(s *graph.Scope) { graph.Identity(s, foreign) }, `output Const:0 belongs to another graph`},
		{"list", func(s *graph.Scope) { graph.Pack(s, []tfbridge.Output{s.Const(int32(1)), {}}, 0) }, "Pack: input 0[1]: the output is not set"},
		{"control", func(s *graph.Scope) { s.WithControlDependencies(foreign.Op).Const(int32(1)) }, "control dependency 0"},
		{"type", func(s *graph.Scope) { s.Op1("NoSuchOp", nil) }, "NoSuchOp"},
		{"value", func(s *graph.Scope) { s.Const(struct{}{}) }, "Const of a struct {}"},
		{"index", func(s *graph.Scope) { graph.Subscript(s, s.Const([]int32{1}), graph.Index{Single: true}) }, "index 0"},
		{"finalized", func(s *graph.Scope) {
			if _, err := s.Finalize(); err != nil {
				t.Error(err)
			}
			s.Const(int32(1))
		}, "the scope is finalized"},
		{"repeated feature", func(s *graph.Scope) {
			f := &graph.ExampleFeatures{
				Dense:  []graph.DenseFeature{{Key: "a", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
				Sparse: []graph.SparseFeature{{Key: "a", DType: tfbridge.Int64}},
			}
			graph.ParseExampleV2(s, s.Const([]string{""}), f)
		}, `feature "a" is to be parsed twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			tt.build(s)
			var classed *millrace.Error
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &classed) {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
		})
	}
}

func TestControlDependencies(t *testing.T) {
	s := graphtest.NewScope(t)
	check := graph.Assert(s, s.Const(false), []tfbridge.Output{s.Const("no luck")}, nil)
	guarded := graph.Identity(s.WithControlDependencies(check, nil), s.Const(int32(1)))
	if _, err := tryRun(t, s, guarded); !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("run after a failed Assert\n got %v\nwant its message", err)
	}
	free := graph.Identity(s, s.Const(int32(1)))
	run(t, s, free)
}

func TestDevice(t *testing.T) {
	s := graphtest.NewScope(t)
	if d := s.WithDevice("/cpu:0").Const(int32(1)).Op.Device(); !strings.Contains(d, "cpu:0") {
		t.Errorf("device %q", d)
	}
}

func TestSpec(t *testing.T) {
	s := graphtest.NewScope(t)
	tests := []struct{ got, want string }{
		{graph.SpecOf(s.Placeholder(tfbridge.Float, tfbridge.MakeShape(2, -1))).String(), "float32[2, ?]"},
		{graph.SpecOf(s.Placeholder(tfbridge.String, tfbridge.Shape{})).String(), "string[...]"},
		{graph.SpecOf(s.Const(int64(3))).String(), "int64[]"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("spec\n got %s\nwant %s", tt.got, tt.want)
		}
	}
	if p := graph.SpecOf(tfbridge.Output{}); p.DType != 0 || p.Shape.NumDimensions() >= 0 {
		t.Errorf("spec of nothing: %v", p)
	}
}
