package graph

import (
	"millrace/tfbridge"
)

// GoFunc is a Go function for [GoFunction].
type GoFunc struct {
	// Name is for messages and the operation's name.
	Name string
	// Out are the types and shapes of the results, which are checked at
	// every call.
	Out []Spec
	// Fn is called for every run of the operation, many at a time. It may
	// block, and run sessions with the context that it gets. An error is the
	// run's, class and all; a panic is one of class millrace.ErrInternal.
	Fn tfbridge.CallFunc
	// Pure says that equal arguments give equal results and that nothing else
	// happens: TensorFlow may then leave calls out, share or repeat them, and
	// save the state of datasets that call the function.
	Pure bool
}

// GoFunction adds a call of a Go function, in a graph or in a function's body,
// and returns its results. It is what tf.py_function is in Python.
//
// The function is called in this process only: a graph that is written down
// and loaded elsewhere fails where it calls one. It is forgotten when the
// graph is closed. A call costs tens of microseconds; while it goes on it
// holds a goroutine and no thread of TensorFlow's.
//
// It wraps TF_NewAsyncKernelBuilder.
func GoFunction(s *Scope, f GoFunc, args ...tfbridge.Output) []tfbridge.Output {
	if s.Err() != nil {
		return make([]tfbridge.Output, len(f.Out))
	}
	if f.Fn == nil {
		s.fail(f.Name, "the Go function is nil")
		return make([]tfbridge.Output, len(f.Out))
	}
	return GoCall(s, GoCallSpec{Name: f.Name, Out: f.Out, Fn: tfbridge.Blocking(f.Fn), Pure: f.Pure}, args...)
}

// GoCallSpec is a Go function that ends its calls by itself, for [GoCall]. The
// fields are those of [GoFunc].
type GoCallSpec struct {
	Name string
	Out  []Spec
	Fn   func(*tfbridge.Call) // must not block: see [tfbridge.Graph.AddCallback]
	Pure bool
}

// GoCall is GoFunction for a function that must not block, and ends its calls
// when it likes.
func GoCall(s *Scope, f GoCallSpec, args ...tfbridge.Output) []tfbridge.Output {
	results := make([]tfbridge.Output, len(f.Out))
	if s.Err() != nil {
		return results
	}
	for i, p := range SpecsOf(args) {
		if p.DType == tfbridge.Resource || p.DType == tfbridge.Variant {
			s.fail(f.Name, "argument %d is a %v, which Go cannot read", i, p.DType)
			return results
		}
	}
	root := s.outermost()
	callback, err := root.graph.AddCallback(f.Fn, &tfbridge.CallbackOptions{
		Name: f.Name, DTypes: DTypes(f.Out), Shapes: Shapes(f.Out),
	})
	if err != nil {
		s.UpdateErr(f.Name, err)
		return results
	}
	attrs := callback.Attrs()
	attrs["Tin"] = DTypes(SpecsOf(args))
	opType := tfbridge.OpGo
	if f.Pure {
		opType = tfbridge.OpGoPure
	}
	op := s.AddOperation(tfbridge.OpSpec{
		Type: opType, Name: f.Name, Attrs: attrs,
		Input: []tfbridge.Input{root.session(), tfbridge.OutputList(args)},
	})
	for i, o := range Outputs(op) {
		results[i] = o
		if f.Out[i].Shape.NumDimensions() >= 0 {
			s.UpdateErr(f.Name, s.graph.SetShape(o, f.Out[i].Shape)) // checked at every call
		}
	}
	return results
}

// outermost returns the scope around all functions that s is in the body of.
func (s *Scope) outermost() *Scope {
	for s.state.body != nil {
		s = s.state.body.parent
	}
	return s
}

// session returns the token of the session that runs the graph. Within
// functions it is a capture: their kernels cannot know the session.
func (s *Scope) session() tfbridge.Output {
	if s.state.session.Op == nil {
		s.state.session = s.root().one(tfbridge.OpSpec{Type: tfbridge.OpSession, Device: "/cpu:0"})
		s.UpdateErr("session token", s.graph.SetShape(s.state.session, tfbridge.ScalarShape()))
	}
	return s.state.session
}
