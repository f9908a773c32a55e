package gradients_test

import (
	"strings"
	"testing"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// product is a function of two tensors with different derivatives.
func product(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
	return graph.Mul(s, args[0], s.Op1("Square", nil, args[1]))
}

// twice is a loop of two iterations whose variable starts at v and whose body takes the
// capture c.
func twice(s *graph.Scope, v, c tfbridge.Output) tfbridge.Output {
	return graph.While(s, []tfbridge.Output{s.Const(int32(0)), v}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, v[0], s.Const(int32(2)))
	}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, v[0], s.Const(int32(1))), product(s, []tfbridge.Output{c, v[1]})}
	}, nil)[1]
}

// dependent are control flow operations on two tensors, a and b, that y is computed
// from.
var dependent = map[string]func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output{
	"While": twice,
	"While with two variables": func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output {
		return graph.While(s, []tfbridge.Output{s.Const(int32(0)), a, b}, func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.Less(s, v[0], s.Const(int32(2)))
		}, func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Add(s, v[0], s.Const(int32(1))), product(s, v[1:]), s.Op1("Sin", nil, v[1])}
		}, nil)[1]
	},
	"If": func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output {
		return graph.Cond(s, s.Const(true),
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{product(s, []tfbridge.Output{a, b})} },
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{graph.Add(s, a, b)} })[0]
	},
	"Case": func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output {
		return graph.Case(s, s.Const(int32(1)),
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{graph.Add(s, a, b)} },
			func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{product(s, []tfbridge.Output{a, b})} })[0]
	},
	"PartitionedCall": func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output {
		f := s.Func("product", graph.SpecsOf([]tfbridge.Output{a, b}), nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{product(s, args)}
		})
		return graph.Call(s, f, a, b)[0]
	},
	"call of a loop": func(s *graph.Scope, a, b tfbridge.Output) tfbridge.Output {
		f := s.Func("loop", graph.SpecsOf([]tfbridge.Output{a, b}), nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{twice(s, args[0], args[1])}
		})
		return graph.Call(s, f, a, b)[0]
	},
}

// An operation with functions may receive one tensor twice, or a tensor that is
// computed from another of its inputs. Each path from x to the loss counts once.
func TestLoopOfDependentInputs(t *testing.T) {
	second := map[string]func(s *graph.Scope, x tfbridge.Output) tfbridge.Output{
		"same tensor":     func(_ *graph.Scope, x tfbridge.Output) tfbridge.Output { return x },
		"computed tensor": func(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return s.Op1("Exp", nil, x) },
	}
	for name, build := range dependent {
		for input, other := range second {
			t.Run(name+"/"+input, func(t *testing.T) {
				compareBoth(t, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
					return graph.Add(s, build(s, x, other(s, x)), build(s, other(s, x), x))
				})
			})
		}
	}
}

// compareBoth compares the derivatives of both packages with differences.
func compareBoth(t *testing.T, build func(s *graph.Scope, x tfbridge.Output) tfbridge.Output) {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	shape := []int64{3}
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(shape...))
	loss := graph.ReduceSum(s, build(s, x))
	d := gradients.Add(s, []tfbridge.Output{loss}, []tfbridge.Output{x}, nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	compareDifferences(t, s.Graph(), shape, [3]tfbridge.Output{x, loss, d[0]})
	if strings.Contains(t.Name(), "call_of_a_loop") {
		return // TensorFlow's C API has no derivative of a call within a function
	}
	native := graph.Gradients(s, []tfbridge.Output{loss}, []tfbridge.Output{x})
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	compareDifferences(t, s.Graph(), shape, [3]tfbridge.Output{x, loss, native[0]})
}
