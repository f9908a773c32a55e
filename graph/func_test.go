package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

var int32Scalar = graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.ScalarShape()}

func TestFunc(t *testing.T) {
	s := graphtest.NewScope(t)
	in := []graph.Spec{{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)}, int32Scalar}
	f := s.Func("scale", in, nil, func(s *graph.Scope, args, captured []tfbridge.Output) []tfbridge.Output {
		product := graph.Mul(s, args[0], args[1])
		return []tfbridge.Output{product, args[1], graph.Cast(s, product, tfbridge.Float), product}
	})
	got := []string{}
	for _, p := range f.Out {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"int32[?]", "int32[]", "float32[?]", "int32[?]"}, got); diff != "" {
		t.Errorf("results (-want +got)\n%s", diff)
	}
	called := graph.Call(s, f, s.Const([]int32{1, 2}), s.Const(int32(10)))
	want := []any{[]int32{10, 20}, int32(10), []float32{10, 20}, []int32{10, 20}}
	if diff := cmp.Diff(want, run(t, s, called...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
}

func TestCaptures(t *testing.T) {
	s := graphtest.NewScope(t)
	ten, hundred, thousand := s.Const(int32(10)), s.Const(int32(100)), s.Const(int32(1000))
	f := s.Func("f", []graph.Spec{int32Scalar}, []tfbridge.Output{hundred},
		func(s *graph.Scope, args, captured []tfbridge.Output) []tfbridge.Output {
			sum := graph.Add(s, graph.Add(s, args[0], captured[0]), ten)
			return []tfbridge.Output{graph.Add(s, sum, ten), hundred, thousand}
		})
	if diff := cmp.Diff([]tfbridge.Output{hundred, ten, thousand}, f.Captures, cmp.Comparer(same)); diff != "" {
		t.Errorf("captures (-want +got)\n%s", diff)
	}
	want := []any{int32(121), int32(100), int32(1000)}
	if diff := cmp.Diff(want, run(t, s, graph.Call(s, f, s.Const(int32(1)))...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
}

func same(a, b tfbridge.Output) bool { return a == b }

func TestNestedFunc(t *testing.T) {
	s := graphtest.NewScope(t)
	ten := s.Const(int32(10))
	f := s.Func("outer", []graph.Spec{int32Scalar}, nil, func(s *graph.Scope, outer, _ []tfbridge.Output) []tfbridge.Output {
		g := s.Func("inner", []graph.Spec{int32Scalar}, nil, func(s *graph.Scope, inner, _ []tfbridge.Output) []tfbridge.Output {
			// ten is captured twice over, outer[0] once.
			return []tfbridge.Output{graph.Add(s, graph.Mul(s, inner[0], ten), outer[0])}
		})
		return graph.Call(s, g, s.Const(int32(5)))
	})
	called := graph.Call(s, f, s.Const(int32(3)))
	if diff := cmp.Diff([]any{int32(53)}, run(t, s, called...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
}

func TestSameNameTwice(t *testing.T) {
	s := graphtest.NewScope(t)
	again := graph.NewScopeWithGraph(s.Graph())
	var calls []tfbridge.Output
	for i, scope := range []*graph.Scope{s, s, again, s.SubScope("sub")} {
		f := scope.Func("f", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{s.Const(int32(i))}
		})
		if err := scope.Err(); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, graph.Call(scope, f)...)
	}
	if diff := cmp.Diff([]any{int32(0), int32(1), int32(2), int32(3)}, run(t, s, calls...)); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
}

func TestAssertInFunc(t *testing.T) {
	s := graphtest.NewScope(t)
	positive := s.Func("positive", []graph.Spec{int32Scalar}, nil,
		func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			graph.Assert(s, graph.Greater(s, args[0], s.Const(int32(0))),
				[]tfbridge.Output{s.Const("must be positive, got"), args[0]}, nil)
			return args
		})
	// The Assert of a function within a function fires too.
	outer := s.Func("outer", []graph.Spec{int32Scalar}, nil,
		func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return graph.Call(s, positive, args[0])
		})
	run(t, s, graph.Call(s, positive, s.Const(int32(1)))...)
	for _, f := range []*graph.Func{positive, outer} {
		_, err := tryRun(t, s, graph.Call(s, f, s.Const(int32(-1)))...)
		if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "must be positive, got") {
			t.Errorf("error of %s\n got %v\nwant the Assert's", f.Name, err)
		}
	}
}

func TestFuncMistakes(t *testing.T) {
	tests := []struct {
		name string
		body graph.Body
		want string
	}{
		{"inside", func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Add(s, args[0], s.Const("x"))}
		}, `function "f": add`},
		{"result", func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{{}}
		}, "the output is not set"},
		{"deep", func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			s.Func("g", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{s.Op1("NoSuchOp", nil)}
			})
			return args
		}, "NoSuchOp"},
		{"leaked", func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			var leaked tfbridge.Output
			s.Func("g", nil, nil, func(s *graph.Scope, _, _ []tfbridge.Output) []tfbridge.Output {
				leaked = s.Const(int32(1))
				return nil
			})
			return []tfbridge.Output{leaked}
		}, "belongs to another graph"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			f := s.Func("f", []graph.Spec{int32Scalar}, nil, tt.body)
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
			if f.Name != "" || f.Captures != nil {
				t.Errorf("a function came of it: %q with captures %v", f.Name, f.Captures)
			}
		})
	}
}
