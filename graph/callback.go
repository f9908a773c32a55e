package graph

import (
	"millrace/tfbridge"
)

// GoFunc is a Go function for [GoFunction].
type GoFunc struct {
	// Name is for messages and the operation's name.
	Name string
	// Out are the data types and shapes of the results. Every call checks
	// them.
	Out []Spec
	// Fn is called for every run of the operation, several at once. It may
	// block, and may run sessions with its context. If it returns an error, the
	// run fails with that error and its class. A panic becomes an error of class
	// millrace.ErrInternal.
	Fn tfbridge.CallFunc
	// Pure declares that equal arguments give equal results and that there are no side
	// effects. TensorFlow may then omit, share or repeat calls, and save the state of
	// datasets that call the function.
	Pure bool
}

// GoFunction adds a call of a Go function, in a graph or in a function's body,
// and returns its results. It is what tf.py_function is in Python.
//
// Only this process can call the function. A graph that is saved and loaded in
// another process fails at the call. The function is removed when the graph is
// closed. A call costs tens of microseconds. While it runs it holds a goroutine,
// and no thread of TensorFlow.
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

// GoCallSpec is a Go function for [GoCall], which ends its calls explicitly. The
// fields are those of [GoFunc].
type GoCallSpec struct {
	Name string
	Out  []Spec
	Fn   func(*tfbridge.Call) // must not block: see [tfbridge.Graph.AddCallback]
	Pure bool
}

// GoCall is GoFunction for a function that must not block. It may end a call at
// once or later.
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
	if op == nil {
		return results
	}
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

// session returns the token of the session that runs the graph. Inside functions
// the token is a capture, because their kernels cannot find the session.
func (s *Scope) session() tfbridge.Output {
	if s.state.session.Op == nil {
		s.state.session = s.root().one(tfbridge.OpSpec{Type: tfbridge.OpSession, Device: "/cpu:0"})
		s.UpdateErr("session token", s.graph.SetShape(s.state.session, tfbridge.ScalarShape()))
	}
	return s.state.session
}
