// Package graph builds TensorFlow graphs.
//
// A [Scope] adds operations to a graph and gives them unique names. Building
// returns no errors: the first failure sticks to the scope, later calls do
// nothing and return zero values, and [Scope.Err] tells what went wrong.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1))
//	y := graph.Mul(s, x, s.Const(float32(2)))
//	g, err := s.Finalize()
//
// The functions of this package are one thin wrapper per TensorFlow operation,
// by TensorFlow's name: [Cast] adds a Cast. An operation without a wrapper is
// added with [Scope.Op] or [Scope.AddOperation]; package op has a function for
// each there is.
//
// [Scope.Func] makes a TensorFlow function of a Go closure. The closure may
// use outputs of the graphs around it: they become captures, that is inputs
// of the function.
//
// [Cond], [Case] and [While] are conditions, choices and loops whose parts are
// closures too. [Gradients] adds derivatives, also through those and through
// calls of functions that [Scope.Function] makes.
//
// A Scope and the functions of this package are for one goroutine at a time.
package graph
