package graph_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/tfbridge"
)

// show runs outputs and prints their values.
func show(s *graph.Scope, outputs ...tfbridge.Output) {
	tensors, err := graph.Exec(context.Background(), s, outputs, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range tensors {
		fmt.Println(x.Value())
		x.Close()
	}
}

func ExampleCond() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const([]float32{1, 2, 3})
	long := graph.Greater(s, graph.ReduceSum(s, x), s.Const(float32(5)))
	y := graph.Cond(s, long,
		func(s *graph.Scope) []tfbridge.Output {
			return []tfbridge.Output{graph.Mul(s, x, s.Const(float32(10)))}
		},
		func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{x} })
	show(s, y...)
	// Output: [10 20 30]
}

func ExampleCase() {
	s := graph.NewScope()
	defer s.Graph().Close()
	word := func(w string) graph.Branch {
		return func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{s.Const(w)} }
	}
	y := graph.Case(s, s.Const(int32(1)), word("none"), word("one"), word("many"))
	show(s, y...)
	// Output: one
}

func ExampleWhile() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fibonacci := graph.While(s, []tfbridge.Output{s.Const(int64(0)), s.Const(int64(1))},
		func(s *graph.Scope, v []tfbridge.Output) tfbridge.Output {
			return graph.Less(s, v[1], s.Const(int64(1000)))
		},
		func(s *graph.Scope, v []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{v[1], graph.Add(s, v[0], v[1])}
		}, nil)
	show(s, fibonacci...)
	// Output:
	// 987
	// 1597
}

func ExampleGradients() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const(float32(3))
	cube := graph.Mul(s, graph.Mul(s, x, x), x)
	show(s, graph.Gradients(s, []tfbridge.Output{cube}, []tfbridge.Output{x})...)
	// Output: 27
}

func ExampleScope_Function() {
	s := graph.NewScope()
	defer s.Graph().Close()
	in := []graph.Spec{{DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}}
	square := func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Mul(s, args[0], args[0])}
	}
	// The derivative is cut to at most one.
	f := s.Function("square", in, square, &graph.FunctionOptions{
		Gradient: func(s *graph.Scope, args, dy []tfbridge.Output) []tfbridge.Output {
			dx := graph.Mul(s, dy[0], graph.Add(s, args[0], args[0]))
			return []tfbridge.Output{graph.Minimum(s, dx, s.Const(float32(1)))}
		},
	})
	x := s.Const(float32(5))
	y := graph.Call(s, f, x)
	show(s, append(y, graph.Gradients(s, y, []tfbridge.Output{x})...)...)
	// Output:
	// 25
	// 1
}

// An attribute may be a serialized AttrValue message: here the field "type"
// (6) is DT_INT64 (9), as tfbridge.Int64 would set it.
func ExampleScope_AddOperation() {
	s := graph.NewScope()
	defer s.Graph().Close()
	op := s.AddOperation(tfbridge.OpSpec{
		Type:  "Placeholder",
		Name:  "x",
		Attrs: map[string]any{"dtype": tfbridge.AttrProto{6 << 3, 9}, "_note": "kept with the operation"},
	})
	fmt.Println(op.Name(), op.Output(0).DataType())
	// Output: x int64
}
