package gradients_test

import (
	"testing"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// counting adds a variable and returns its handle.
func counting(s *graph.Scope, name string) tfbridge.Output {
	return s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.ScalarShape(), "shared_name": name})
}

// read adds a read of a variable after operations.
func read(s *graph.Scope, v tfbridge.Output, after ...*tfbridge.Operation) tfbridge.Output {
	value := s.WithControlDependencies(after...).Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, v)
	return s.Op1("EnsureShape", map[string]any{"shape": tfbridge.ScalarShape()}, value)
}

// change adds an operation that changes a variable, after others.
func change(s *graph.Scope, op string, v, value tfbridge.Output, after ...*tfbridge.Operation) *tfbridge.Operation {
	return s.WithControlDependencies(after...).AddOperation(tfbridge.OpSpec{Type: op, Input: []tfbridge.Input{v, value}})
}

// double reads v, assigns 2v, adds x, and reads v again. It returns the sum of both.
func double(s *graph.Scope, v, x tfbridge.Output) tfbridge.Output {
	before := read(s, v)
	assigned := change(s, "AssignVariableOp", v, graph.Add(s, before, before))
	added := change(s, "AssignAddVariableOp", v, x, assigned)
	return graph.Add(s, before, read(s, v, added))
}

// changing lists ways to change the variables v and w, with a result that depends on x.
var changing = map[string]func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output{
	"call": func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output {
		f := s.Func("f", graph.SpecsOf([]tfbridge.Output{v, x}), nil, func(s *graph.Scope, a, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{double(s, a[0], a[1])}
		})
		first := graph.Call(s, f, v, x)[0]
		then := s.WithControlDependencies(first.Op)
		return graph.Add(s, first, graph.Call(then, f, v, graph.Call(then, f, w, x)[0])[0])
	},
	"call of a call": func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output {
		inner := s.Func("inner", graph.SpecsOf([]tfbridge.Output{v, x}), nil, func(s *graph.Scope, a, _ []tfbridge.Output) []tfbridge.Output {
			change(s, "AssignSubVariableOp", a[0], a[1])
			return []tfbridge.Output{graph.Mul(s, a[1], a[1])}
		})
		outer := s.Func("outer", graph.SpecsOf([]tfbridge.Output{v, x}), nil, func(s *graph.Scope, a, _ []tfbridge.Output) []tfbridge.Output {
			y := graph.Call(s, inner, a[0], a[1])[0]
			return []tfbridge.Output{graph.Mul(s, y, read(s, a[0], y.Op))}
		})
		return graph.Call(s, outer, v, x)[0]
	},
	"If": func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output {
		taken := graph.Cond(s, graph.Greater(s, x, s.Const(float32(0))),
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{double(s, v, x)} },
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{double(s, w, x)} })[0]
		return graph.Add(s, taken, read(s, v, taken.Op))
	},
	"While": func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output {
		return graph.While(s, []tfbridge.Output{s.Const(int32(0)), x}, func(s *graph.Scope, a []tfbridge.Output) tfbridge.Output {
			return graph.Less(s, a[0], s.Const(int32(3)))
		}, func(s *graph.Scope, a []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Add(s, a[0], s.Const(int32(1))), graph.Mul(s, double(s, v, a[1]), read(s, w))}
		}, &graph.WhileOptions{ParallelIterations: 1})[1]
	},
	"main graph": func(s *graph.Scope, v, w, x tfbridge.Output) tfbridge.Output {
		only := change(s, "AssignVariableOp", w, s.Const(float32(7)))
		return graph.Identity(s.WithControlDependencies(only), double(s, v, x))
	},
}

// An opened graph that changes variables computes the same outputs as the original, and
// the new values of the variables.
func TestOpenChanges(t *testing.T) {
	for name, build := range changing {
		t.Run(name, func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			v, w, x := counting(s, "v"), counting(s, "w"), s.Placeholder(tfbridge.Float, tfbridge.ScalarShape())
			y := build(s, v, w, x)
			start := graph.NoOp(s, change(s, "AssignVariableOp", v, s.Const(float32(3))), change(s, "AssignVariableOp", w, s.Const(float32(0.5))))
			after := []tfbridge.Output{read(s.SubScope("after"), v), read(s.SubScope("after"), w)}
			opened := gradients.Open(s, &gradients.OpenOptions{Outputs: []string{y.String()}, Feeds: map[string]tfbridge.Output{x.Op.Name(): x}})
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			assign := graph.NoOp(s, opened.Assign(s, append(opened.Reads(), opened.Outputs[0].Op)...)...)
			session, err := tfbridge.NewSession(s.Graph(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			run := func(fetch []tfbridge.Output, targets ...*tfbridge.Operation) []float32 {
				in, _ := tfbridge.NewTensor(float32(1.5))
				defer in.Close()
				out, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{x: in}, fetch, targets)
				if err != nil {
					t.Fatal(err)
				}
				var all []float32
				for _, o := range out {
					all = append(all, floats(t, o)[0])
					o.Close()
				}
				return all
			}
			run(nil, start)
			want := append(run([]tfbridge.Output{y}), run(after)...)
			run(nil, start)
			got := append(run(opened.Outputs, assign), run(after)...)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("output and variables are %v, want %v", got, want)
					break
				}
			}
			if want[1] == 3 {
				t.Error("the case changes no variable")
			}
		})
	}
}

// The derivative with respect to a variable that the graph assigns is the sum over all reads, before
// the assignments and after them; nothing flows through an assignment. Where a condition or a loop
// assigns, the values are not known.
func TestGradientsOfAssigned(t *testing.T) {
	for name, want := range map[string]struct{ assigned, derivative int }{
		"call": {4, 4}, "main graph": {2, 2}, "If": {0, 0}, "While": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			v, w, x := counting(s, "v"), counting(s, "w"), s.Const(float32(1.5))
			y := changing[name](s, v, w, x)
			start := graph.NoOp(s, change(s, "AssignVariableOp", v, s.Const(float32(3))), change(s, "AssignVariableOp", w, s.Const(float32(0.5))))
			opened := gradients.Open(s, &gradients.OpenOptions{Outputs: []string{y.String()}})
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			found := false
			for _, c := range opened.Changes {
				if c.Variable.Name != "v" {
					continue
				}
				found = true
				if len(c.Assigned) != want.assigned || len(c.Assigned) > 0 && c.Assigned[0].String() != c.Value.String() {
					t.Fatalf("%d assigned values, want %d, the last one first", len(c.Assigned), want.assigned)
				}
				if want.assigned == 0 {
					return
				}
				d := opened.Gradients(opened.Outputs, []gradients.Variable{c.Variable}, nil)[0]
				session, err := tfbridge.NewSession(s.Graph(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				if _, err := session.Run(nil, nil, []*tfbridge.Operation{start}); err != nil {
					t.Fatal(err)
				}
				out, err := session.Run(nil, []tfbridge.Output{d.Value}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer out[0].Close()
				if got := floats(t, out[0])[0]; got != float32(want.derivative) {
					t.Errorf("the derivative is %v, want %d", got, want.derivative)
				}
			}
			if !found {
				t.Error("v is not changed")
			}
		})
	}
}
