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
// each there is. A [Tensor] is an output with the same operations as methods.
// Packages [millrace/graph/dataset] and [millrace/graph/image] build on this
// one.
//
// # Functions, control flow and derivatives
//
// [Scope.Func] makes a TensorFlow function of a Go closure. The closure may
// use outputs of the graphs around it: they become captures, that is inputs
// of the function.
//
// [Cond], [Case] and [While] are conditions, choices and loops whose parts are
// closures too. [Gradients] adds derivatives, also through those and through
// calls of functions that [Scope.Function] makes.
//
// [GoFunction] and [GoCall] call Go functions in a run, as tf.py_function does
// in Python. They are called in this process only, many at a time, and are
// forgotten with the graph.
//
// # Running
//
// [Exec] and [Tensor.Eval] run a graph once. What runs more often, or has
// variables, takes a [tfbridge.NewSession]. What they return is the caller's to
// close.
//
// # Models
//
// [LoadModel] checks and loads a SavedModel, and [Model.Call] calls it by
// signature. [Model.Freeze] makes a GraphDef without variables of it, which
// [ImportModel] loads.
//
// # Who owns what, and what may run concurrently
//
// A graph belongs to whoever made the scope and is closed by them; what
// outlives the scope is the graph alone. A [Model] owns its graph and its
// session. Scopes, tensors and the functions that add operations are for one
// goroutine at a time; closures that build a part are called before the function
// that takes them returns. Models may be called and closed by many goroutines.
package graph
