// Package graph builds TensorFlow graphs, and loads and calls models.
//
// # Building
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
// every operation. A [Tensor] is an output with the same operations as methods.
// Packages [millrace/graph/dataset] and [millrace/graph/image] build on this
// one.
//
// # Functions, control flow and derivatives
//
// [Scope.Func] makes a TensorFlow function of a Go closure. The closure may
// use outputs of the graphs around it. They become captures: inputs of the
// function.
//
// [Cond], [Case] and [While] build control flow from closures. [Gradients] adds
// derivatives, also through control flow and through calls of functions that
// [Scope.Function] makes.
//
// [GoFunction] and [GoCall] call Go functions in a run, as tf.py_function does
// in Python. Only this process can call them, several threads call at once, and
// they are removed with the graph.
//
// # Running
//
// [Exec] and [Tensor.Eval] run a graph once. To run it more often, or if it has
// variables, make a [tfbridge.NewSession]. The caller closes the tensors that
// they return.
//
// # Models
//
// [LoadModel] checks and loads a SavedModel, and [Model.Call] calls one of its
// signatures. [Model.Freeze] returns a GraphDef without variables, which
// [ImportModel] loads.
//
// # Who owns what, and what may run concurrently
//
// Whoever makes a scope owns its graph and closes it. A scope holds nothing else
// that must be closed. A [Model] owns its graph and its session. Only one
// goroutine at a time may use a scope, its tensors, and functions that add
// operations. A function that takes a closure calls it before it returns. Many
// goroutines may call and close a model concurrently.
package graph
