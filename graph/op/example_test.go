package op_test

import (
	"fmt"
	"log"

	"millrace/graph/op"
	tf "millrace/tfbridge"
)

func Example() {
	s := op.NewScope()
	defer s.Graph().Close()
	input := op.Placeholder(s, tf.Float, op.PlaceholderShape(tf.MakeShape(-1, 1)))
	output := op.MatMul(s, op.Const(s, [][]float32{{10}, {20}}), input, op.MatMulTransposeB(true))
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(output.Shape())
	// Output: [2, ?]
}

func ExampleNewScope() {
	s := op.NewScope()
	defer s.Graph().Close()
	one, other := op.Const(s.SubScope("x"), int64(1)), op.Const(s.SubScope("x"), int64(1))
	fmt.Println(one.Op.Name(), other.Op.Name())
	// Output: x/Const x_1/Const
}

func ExampleNewScopeWithGraph() {
	first := op.NewScope()
	op.Const(first, "hello")
	g, err := first.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	s := op.NewScopeWithGraph(g)
	fmt.Println(op.Const(s, "world"))
	// Output: Const_1:0
}

func ExampleConst() {
	s := op.NewScope()
	defer s.Graph().Close()
	c := op.Const(s, [][]string{{"a", "b"}})
	fmt.Println(c.DataType(), c.Shape())
	// Output: string [1, 2]
}
