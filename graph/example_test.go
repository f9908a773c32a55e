package graph_test

import (
	"fmt"
	"log"

	"millrace/graph"
	"millrace/tfbridge"
)

func ExampleScope() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1))
	y := graph.Add(s, graph.Mul(s, x, s.Const(float32(2))), s.Const(float32(1)))
	g, err := s.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	in, err := tfbridge.NewTensor([]float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	fetched, err := sess.Run(map[tfbridge.Output]*tfbridge.Tensor{x: in}, []tfbridge.Output{y}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer fetched[0].Close()
	fmt.Println(fetched[0].Value())
	// Output: [3 5 7]
}

// The first failure sticks: it is enough to ask once.
func ExampleScope_Err() {
	s := graph.NewScope()
	defer s.Graph().Close()
	features := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1, 3))
	weights := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(4))
	product := graph.Mul(s.SubScope("layer"), features, weights)
	graph.ReduceSum(s, product) // does nothing
	fmt.Println(s.Err() != nil, product.Op)
	// Output: true <nil>
}

func ExampleScope_Func() {
	s := graph.NewScope()
	defer s.Graph().Close()
	offset := s.Const(int32(100))
	in := []graph.Spec{{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)}}
	// The closure uses offset, of the graph around it: a capture.
	f := s.Func("shift", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, args[0], offset)}
	})
	result := graph.Call(s, f, s.Const([]int32{1, 2}))[0]
	fmt.Println(f.Out, len(f.Captures))
	fmt.Println(value(s, result))
	// Output:
	// [int32[?]] 1
	// [101 102]
}

func ExampleSubscript() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const([][]int32{{1, 2, 3}, {4, 5, 6}})
	fmt.Println(value(s, graph.Subscript(s, x, graph.At(-1))))                  // x[-1]
	fmt.Println(value(s, graph.Subscript(s, x, graph.Whole(), graph.Until(2)))) // x[:, :2]
	// Output:
	// [4 5 6]
	// [[1 2] [4 5]]
}

// Asserts of a function run whenever the function does. Elsewhere something
// must wait for them.
func ExampleAssert() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Const([]int32{1, 2, 3})
	positive := graph.ReduceAll(s, graph.Greater(s, x, s.Const(int32(0))))
	check := graph.Assert(s, positive, []tfbridge.Output{s.Const("not positive:"), x}, nil)
	checked := graph.Identity(s.WithControlDependencies(check), x)
	fmt.Println(value(s, checked))
	// Output: [1 2 3]
}

// value runs one output.
func value(s *graph.Scope, o tfbridge.Output) any {
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	fetched, err := sess.Run(nil, []tfbridge.Output{o}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer fetched[0].Close()
	return fetched[0].Value()
}
