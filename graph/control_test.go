package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

type outputs = []tfbridge.Output

// branch returns a branch with one result.
func branch(f func(s *graph.Scope) tfbridge.Output) graph.Branch {
	return func(s *graph.Scope) outputs { return outputs{f(s)} }
}

func TestCond(t *testing.T) {
	s := graphtest.NewScope(t)
	x, pred := s.Const([]float32{3, 4}), s.Placeholder(tfbridge.Bool, tfbridge.ScalarShape())
	y := graph.Cond(s, pred,
		func(s *graph.Scope) outputs { return outputs{graph.Mul(s, x, x), s.Const(int32(1))} },
		func(s *graph.Scope) outputs { return outputs{graph.Sub(s, x, s.Const(float32(1))), s.Const(int32(2))} })
	d := graph.Gradients(s, y[:1], outputs{x})
	for pred1, want := range map[bool][]any{
		true:  {[]float32{9, 16}, int32(1), []float32{6, 8}},
		false: {[]float32{2, 3}, int32(2), []float32{1, 1}},
	} {
		if diff := cmp.Diff(want, feed(t, s, pred, pred1, y[0], y[1], d[0])); diff != "" {
			t.Errorf("%t (-want +got)\n%s", pred1, diff)
		}
	}
}

// Only the branch that is taken runs.
func TestCondRunsOneBranch(t *testing.T) {
	s := graphtest.NewScope(t)
	pred := s.Placeholder(tfbridge.Bool, tfbridge.ScalarShape())
	y := graph.Cond(s, pred,
		branch(func(s *graph.Scope) tfbridge.Output {
			graph.Assert(s, s.Const(false), outputs{s.Const("taken")}, nil)
			return s.Const(int32(1))
		}),
		branch(func(s *graph.Scope) tfbridge.Output { return s.Const(int32(2)) }))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	got, err := sess.Run(map[tfbridge.Output]*tfbridge.Tensor{pred: tensor(t, false)}, y, nil)
	if err != nil || got[0].Value() != int32(2) {
		t.Fatalf("false: %v, %v", got, err)
	}
	got[0].Close()
	_, err = sess.Run(map[tfbridge.Output]*tfbridge.Tensor{pred: tensor(t, true)}, y, nil)
	if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "taken") {
		t.Errorf("true\n got %v\nwant the Assert's failure", err)
	}
}

// The results have the shape that the branches have in common.
func TestCondShapes(t *testing.T) {
	s := graphtest.NewScope(t)
	tests := []struct{ then, otherwise, want string }{
		{"[2, 3]", "[2, 3]", "float32[2, 3]"},
		{"[2, 3]", "[2, 4]", "float32[2, ?]"},
		{"[2]", "[2, 4]", "float32[...]"},
	}
	shapes := map[string]tfbridge.Shape{
		"[2, 3]": tfbridge.MakeShape(2, 3), "[2, 4]": tfbridge.MakeShape(2, 4), "[2]": tfbridge.MakeShape(2),
	}
	for _, tt := range tests {
		x, y := s.Placeholder(tfbridge.Float, shapes[tt.then]), s.Placeholder(tfbridge.Float, shapes[tt.otherwise])
		got := graph.Cond(s, s.Const(true),
			branch(func(*graph.Scope) tfbridge.Output { return x }), branch(func(*graph.Scope) tfbridge.Output { return y }))
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		if spec := graph.SpecOf(got[0]).String(); spec != tt.want {
			t.Errorf("%s or %s\n got %s\nwant %s", tt.then, tt.otherwise, spec, tt.want)
		}
	}
}

func TestCase(t *testing.T) {
	s := graphtest.NewScope(t)
	x, index := s.Const(float32(5)), s.Placeholder(tfbridge.Int32, tfbridge.ScalarShape())
	y := graph.Case(s, index,
		branch(func(*graph.Scope) tfbridge.Output { return x }),
		branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, x, s.Const(float32(2))) }),
		branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, x, x) }))
	d := graph.Gradients(s, y, outputs{x})
	for i, want := range [][]any{{float32(5), float32(1)}, {float32(10), float32(2)}, {float32(25), float32(10)}, {float32(25), float32(10)}} {
		if diff := cmp.Diff(want, feed(t, s, index, int32(i), y[0], d[0])); diff != "" {
			t.Errorf("branch %d (-want +got)\n%s", i, diff)
		}
	}
}

// feed fetches outputs with a value for one of them.
func feed(t *testing.T, s *graph.Scope, x tfbridge.Output, value any, fetches ...tfbridge.Output) []any {
	t.Helper()
	got, err := graph.Exec(t.Context(), s, fetches, map[tfbridge.Output]*tfbridge.Tensor{x: tensor(t, value)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var values []any
	for _, v := range got {
		values = append(values, v.Value())
		v.Close()
	}
	return values
}

func TestWhile(t *testing.T) {
	s := graphtest.NewScope(t)
	x, k := s.Const(float32(2)), s.Const(float32(3))
	y := graph.While(s, outputs{s.Const(int32(0)), x},
		func(s *graph.Scope, v outputs) tfbridge.Output { return graph.Less(s, v[0], s.Const(int32(4))) },
		func(s *graph.Scope, v outputs) outputs {
			return outputs{graph.Add(s, v[0], s.Const(int32(1))), graph.Mul(s, graph.Mul(s, v[1], v[1]), k)}
		}, nil)
	// x becomes 3x², four times: 3¹⁵ x¹⁶.
	if diff := cmp.Diff([]any{int32(4), float32(14348907 * 65536)}, run(t, s, y...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	d := graph.Gradients(s, y[1:], outputs{x, k})
	want := []any{float32(14348907 * 65536 / 2 * 16), float32(14348907 * 65536 / 3 * 15)}
	if diff := cmp.Diff(want, run(t, s, d...)); diff != "" {
		t.Errorf("gradients (-want +got)\n%s", diff)
	}
}

// A loop that does not run at all passes derivatives on.
func TestWhileOfNoRounds(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const([]float32{2, 5})
	y := graph.While(s, outputs{x},
		func(s *graph.Scope, v outputs) tfbridge.Output { return s.Const(false) },
		func(s *graph.Scope, v outputs) outputs { return outputs{graph.Mul(s, v[0], v[0])} }, nil)
	d := graph.Gradients(s, y, outputs{x})
	if diff := cmp.Diff([]any{[]float32{2, 5}, []float32{1, 1}}, run(t, s, y[0], d[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhileOfAtMostThreeRounds(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const(float32(5))
	y := graph.While(s, outputs{x},
		func(s *graph.Scope, v outputs) tfbridge.Output { return s.Const(true) },
		func(s *graph.Scope, v outputs) outputs { return outputs{graph.Mul(s, v[0], s.Const(float32(2)))} },
		&graph.WhileOptions{MaxIterations: 3, Shapes: []tfbridge.Shape{{}}})
	d := graph.Gradients(s, y, outputs{x})
	if diff := cmp.Diff([]any{float32(40), float32(8)}, run(t, s, y[0], d[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhileOfGrowingShape(t *testing.T) {
	s := graphtest.NewScope(t)
	grow := func(shapes []tfbridge.Shape) outputs {
		return graph.While(s, outputs{s.Const([]int32{1})},
			func(s *graph.Scope, v outputs) tfbridge.Output {
				return graph.Less(s, graph.ReduceSum(s, v[0]), s.Const(int32(5)))
			},
			func(s *graph.Scope, v outputs) outputs {
				return outputs{graph.ConcatV2(s, outputs{v[0], v[0]}, 0)}
			}, &graph.WhileOptions{Shapes: shapes, ParallelIterations: 1})
	}
	y := grow([]tfbridge.Shape{tfbridge.MakeShape(-1)})
	if diff := cmp.Diff([]any{[]int32{1, 1, 1, 1, 1, 1, 1, 1}}, run(t, s, y...)); diff != "" || graph.SpecOf(y[0]).String() != "int32[?]" {
		t.Errorf("%v (-want +got)\n%s", graph.SpecOf(y[0]), diff)
	}
	if grow(nil); s.Err() == nil || !strings.Contains(s.Err().Error(), "set Shapes") {
		t.Errorf("without Shapes\n got %v\nwant a hint at them", s.Err())
	}
}

// Conditions in a loop in a function in a condition, with derivatives.
func TestNestedControlFlow(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const(float32(3))
	scalar := []graph.Spec{graph.SpecOf(x)}
	f := s.Function("collatz", scalar, func(s *graph.Scope, args outputs) outputs {
		v := graph.While(s, outputs{s.Const(int32(0)), args[0]},
			func(s *graph.Scope, v outputs) tfbridge.Output { return graph.Less(s, v[0], s.Const(int32(3))) },
			func(s *graph.Scope, v outputs) outputs {
				next := graph.Cond(s, graph.Greater(s, v[1], s.Const(float32(4))),
					branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, v[1], s.Const(float32(0.5))) }),
					branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, v[1], x) }))
				return outputs{graph.Add(s, v[0], s.Const(int32(1))), next[0]}
			}, nil)
		return v[1:]
	}, nil)
	y := graph.Cond(s, graph.Less(s, x, s.Const(float32(10))),
		func(s *graph.Scope) outputs { return graph.Call(s, f, x) },
		branch(func(s *graph.Scope) tfbridge.Output { return x }))
	// 3, 3·3 = 9, 4.5, 2.25: x²/4.
	d := graph.Gradients(s, y, outputs{x})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{float32(2.25), float32(1.5)}, run(t, s, y[0], d[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Derivatives within a loop: minimize (x - 4)² by steps along them, once of the
// loop's own variable, once of one outside.
func TestGradientsInALoop(t *testing.T) {
	s := graphtest.NewScope(t)
	loss := func(s *graph.Scope, x tfbridge.Output) outputs {
		d := graph.Sub(s, x, s.Const(float32(4)))
		return outputs{graph.Mul(s, d, d)}
	}
	start := s.Const(float32(0))
	y := graph.While(s, outputs{start, start},
		func(s *graph.Scope, v outputs) tfbridge.Output { return s.Const(true) },
		func(s *graph.Scope, v outputs) outputs {
			step := func(s *graph.Scope, of, at tfbridge.Output) tfbridge.Output {
				dx := graph.Gradients(s, loss(s, of), outputs{of})
				if s.Err() != nil {
					return tfbridge.Output{}
				}
				return graph.Sub(s, at, graph.Mul(s, dx[0], s.Const(float32(0.25))))
			}
			return outputs{step(s, v[0], v[0]), step(s.SubScope("outer"), start, v[1])}
		}, &graph.WhileOptions{MaxIterations: 3})
	// Halves the distance three times; the other goes 2 a round.
	if diff := cmp.Diff([]any{float32(3.5), float32(6)}, run(t, s, y...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Gradients end at tensors that are not floating point. Operations whose state matters
// have no derivative.
func TestWhereDerivativesEnd(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Const(float32(2.5))
	count := graph.Cast(s, x, tfbridge.Int32)
	y := graph.Cond(s, s.Const(true),
		branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, x, graph.Cast(s, count, tfbridge.Float)) }),
		branch(func(s *graph.Scope) tfbridge.Output { return x }))
	if diff := cmp.Diff([]any{float32(2)}, run(t, s, graph.Gradients(s, y, outputs{x})...)); diff != "" {
		t.Errorf("with an integer on the way (-want +got)\n%s", diff)
	}
	noise := graph.Cond(s, s.Const(true),
		branch(func(s *graph.Scope) tfbridge.Output { return graph.Mul(s, x, random(s)) }),
		branch(func(s *graph.Scope) tfbridge.Output { return x }))
	z := s.Const(float32(6))
	other := graph.Gradients(s.SubScope("beside"), outputs{graph.Mul(s, noise[0], z)}, outputs{z})
	if diff := cmp.Diff([]any{true}, run(t, s, graph.Less(s, other[0], s.Const(float32(3))))); diff != "" {
		t.Errorf("a derivative beside one that there is not (-want +got)\n%s", diff)
	}
}

// random adds a random number.
func random(s *graph.Scope) tfbridge.Output {
	return s.Op1("RandomUniform", map[string]any{"dtype": tfbridge.Float}, s.Const([]int32{}))
}

// Where there is no derivative, Gradients says why.
func TestNoDerivative(t *testing.T) {
	noise := func(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return graph.Mul(s, x, random(s)) }
	beta := func(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return s.Op1("Betainc", nil, x, x, x) }
	called := func(s *graph.Scope, x tfbridge.Output, f func(*graph.Scope, tfbridge.Output) tfbridge.Output) outputs {
		return graph.Call(s, s.Function("f", []graph.Spec{graph.SpecOf(x)}, func(s *graph.Scope, args outputs) outputs {
			return outputs{f(s, args[0])}
		}, nil), x)
	}
	taken := func(s *graph.Scope, x tfbridge.Output, f func(*graph.Scope, tfbridge.Output) tfbridge.Output) outputs {
		return graph.Cond(s, s.Const(true), branch(func(s *graph.Scope) tfbridge.Output { return f(s, x) }),
			branch(func(*graph.Scope) tfbridge.Output { return x }))
	}
	loop := func(s *graph.Scope, x tfbridge.Output, f func(*graph.Scope, tfbridge.Output) tfbridge.Output) outputs {
		return graph.While(s, outputs{x}, func(s *graph.Scope, v outputs) tfbridge.Output { return graph.Less(s, v[0], x) },
			func(s *graph.Scope, v outputs) outputs { return outputs{f(s, v[0])} }, nil)
	}
	tests := []struct {
		name, want string
		build      func(s *graph.Scope, x tfbridge.Output, f func(*graph.Scope, tfbridge.Output) tfbridge.Output) outputs
		f          func(s *graph.Scope, x tfbridge.Output) tfbridge.Output
	}{
		{"random function", "call has no derivative: it has state", called, noise},
		{"random branch", "cond has no derivative: it has state", taken, noise},
		{"random loop", "while has no derivative: it has state", loop, noise},
		{"function", "No gradient defined for op: Betainc", called, beta},
		{"branch", "No gradient defined for op: Betainc", taken, beta},
		{"loop", "No gradient defined for op: Betainc", loop, beta},
		{"function in a branch", "cond has no derivative: call has no derivative: TF_AddGradients", func(s *graph.Scope, x tfbridge.Output, f func(*graph.Scope, tfbridge.Output) tfbridge.Output) outputs {
			return taken(s, x, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return called(s, x, f)[0] })
		}, beta},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			x := s.Const(float32(0.5))
			y := tt.build(s, x, tt.f)
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			if graph.Gradients(s, y, outputs{x}); s.Err() == nil || !strings.Contains(s.Err().Error(), tt.want) {
				t.Errorf("error\n got %v\nwant one with %q", s.Err(), tt.want)
			}
		})
	}
}

func TestVariableInBranch(t *testing.T) {
	s := graphtest.NewScope(t)
	handle := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.ScalarShape()})
	init := s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, s.Const(float32(7))}})
	x := s.Const(float32(3))
	y := graph.Cond(s, s.Const(true),
		branch(func(s *graph.Scope) tfbridge.Output {
			return graph.Mul(s, x, s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, handle))
		}),
		branch(func(s *graph.Scope) tfbridge.Output { return x }))
	d := graph.Gradients(s, y, outputs{x})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{init}); err != nil {
		t.Fatal(err)
	}
	got, err := sess.Run(nil, outputs{y[0], d[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{float32(21), float32(7)}, []any{got[0].Value(), got[1].Value()}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got[0].Close()
	got[1].Close()
}

func TestFunctionGradients(t *testing.T) {
	s := graphtest.NewScope(t)
	x, k := s.Const(float32(3)), s.Const(float32(10))
	in := []graph.Spec{graph.SpecOf(x)}
	body := func(s *graph.Scope, args outputs) outputs {
		return outputs{graph.Mul(s, graph.Mul(s, args[0], args[0]), k), graph.Cast(s, args[0], tfbridge.Int32)}
	}
	plain := s.Function("plain", in, body, nil)
	clipped := s.Function("clipped", in, body, &graph.FunctionOptions{
		Gradient: func(s *graph.Scope, args, dy outputs) outputs {
			return outputs{graph.Minimum(s, graph.Mul(s, dy[0], args[0]), graph.Add(s, k, x))}
		},
	})
	got := outputs{}
	for i, f := range []*graph.Func{plain, clipped} {
		y := graph.Call(s, f, x)
		got = append(got, y[0])
		got = append(got, graph.Gradients(s.SubScope([]string{"plain", "clipped"}[i]), y[:1], outputs{x}, s.Const(float32(100)))...)
	}
	want := []any{float32(90), float32(6000), float32(90), float32(13)}
	if diff := cmp.Diff(want, run(t, s, got...)); diff != "" {
		t.Errorf("values and derivatives (-want +got)\n%s", diff)
	}
}

func TestFunctionMistakes(t *testing.T) {
	in := []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}}
	gradient := func(results ...any) func(*graph.Scope, outputs, outputs) outputs {
		return func(s *graph.Scope, _, _ outputs) (out outputs) {
			for _, v := range results {
				out = append(out, s.Const(v))
			}
			return out
		}
	}
	tests := []struct {
		name     string
		gradient func(*graph.Scope, outputs, outputs) outputs
		want     string
	}{
		{"too few", gradient(), "there are 0 derivatives for 1 arguments"},
		{"type", gradient(int32(1)), "the derivative for argument 0 is int32 and the argument float32"},
		{"inside", gradient(struct{}{}), `function "f_gradient": add Const`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			f := s.Function("f", in, func(s *graph.Scope, args outputs) outputs { return args }, &graph.FunctionOptions{Gradient: tt.gradient})
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) || f.Name != "" {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
		})
	}
}

func TestControlFlowMistakes(t *testing.T) {
	one := func(v any) graph.Branch {
		return branch(func(s *graph.Scope) tfbridge.Output { return s.Const(v) })
	}
	loop := func(s *graph.Scope, cond, body any, o *graph.WhileOptions) {
		graph.While(s, outputs{s.Const(int32(0))},
			func(s *graph.Scope, _ outputs) tfbridge.Output { return s.Const(cond) },
			func(s *graph.Scope, _ outputs) outputs { return outputs{s.Const(body)} }, o)
	}
	tests := []struct {
		name  string
		build func(s *graph.Scope)
		want  string
	}{
		{"types", func(s *graph.Scope) { graph.Cond(s, s.Const(true), one(int32(1)), one(float32(1))) }, "result 0 is int32 in branch 0 and float32 in branch 1"},
		{"count", func(s *graph.Scope) {
			graph.Cond(s, s.Const(true), one(int32(1)), func(*graph.Scope) outputs { return nil })
		}, "branch 0 has 1 results and branch 1 has 0"},
		{"branch", func(s *graph.Scope) {
			graph.Cond(s, s.Const(true), one(struct{}{}), one(int32(1)))
		}, `function "cond_branch0": add Const of a struct {}`},
		{"no branches", func(s *graph.Scope) { graph.Case(s, s.Const(int32(0))) }, "there is no branch"},
		{"index", func(s *graph.Scope) { graph.Case(s, s.Const("x"), one(int32(1))) }, "case"},
		{"condition", func(s *graph.Scope) { loop(s, int32(1), int32(1), nil) }, "the condition is int32[] and must be a bool"},
		{"variable type", func(s *graph.Scope) { loop(s, true, "x", nil) }, "variable 0 is int32 and the body makes it string"},
		{"variable shape", func(s *graph.Scope) { loop(s, true, []int32{1}, nil) }, "the body makes it int32[1]"},
		{"shapes", func(s *graph.Scope) {
			loop(s, true, int32(1), &graph.WhileOptions{Shapes: make([]tfbridge.Shape, 2)})
		}, "2 shapes for 1 variables"},
		{"initial shape", func(s *graph.Scope) {
			loop(s, true, int32(1), &graph.WhileOptions{Shapes: []tfbridge.Shape{tfbridge.MakeShape(2)}})
		}, "variable 0 is int32[] initially"},
		{"no variables", func(s *graph.Scope) { graph.While(s, nil, nil, nil, nil) }, "there are no variables"},
		{"controls", func(s *graph.Scope) {
			x := s.Const(float32(1))
			graph.Gradients(s.WithControlDependencies(x.Op), outputs{x}, outputs{x})
		}, "control dependencies"},
		{"device", func(s *graph.Scope) {
			x := s.Const(float32(1))
			graph.Gradients(s.WithDevice("/cpu:0"), outputs{x}, outputs{x})
		}, `the device "/cpu:0"`},
		{"derivatives", func(s *graph.Scope) {
			x := s.Const(float32(1))
			graph.Gradients(s, outputs{x}, outputs{x}, x, x)
		}, "2 values in dx for 1 in y"},
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

// Iterations must not use stack: TensorFlow runs loops that are not lowered by calling
// itself.
func TestWhileOfManyRounds(t *testing.T) {
	const rounds = 100_000
	count := func(s *graph.Scope) tfbridge.Output {
		return graph.While(s, []tfbridge.Output{s.Const(int64(0))},
			func(s *graph.Scope, vars []tfbridge.Output) tfbridge.Output {
				return graph.Less(s, vars[0], s.Const(int64(rounds)))
			},
			func(s *graph.Scope, vars []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{graph.Add(s, vars[0], s.Const(int64(1)))}
			}, nil)[0]
	}
	s := graphtest.NewScope(t)
	plain := count(s)
	f := s.Func("f", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output { return []tfbridge.Output{count(s)} })
	got, err := tryRun(t, s, plain, graph.Call(s, f)[0])
	if err != nil || got[0] != int64(rounds) || got[1] != int64(rounds) {
		t.Errorf("got %v, %v, want %d twice", got, err, rounds)
	}
}

func TestWhileOfFunctionsIsLowered(t *testing.T) {
	s := graphtest.NewScope(t)
	in := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	cond := s.Func("c", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Less(s, args[0], s.Const(int64(100_000)))}
	})
	body := s.Func("b", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, args[0], s.Const(int64(1)))}
	})
	end := s.Op("StatelessWhile", map[string]any{"cond": cond.Attr(), "body": body.Attr()}, tfbridge.OutputList{s.Const(int64(0))})
	if got, err := tryRun(t, s, end...); err != nil || got[0] != int64(100_000) {
		t.Errorf("got %v, %v", got, err)
	}
}
