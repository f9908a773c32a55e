package graph

import (
	"fmt"
	"slices"

	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Body builds a function's body in its own scope. It computes the results from the
// arguments and the placeholders of the requested captures.
type Body func(s *Scope, args, captured []tfbridge.Output) []tfbridge.Output

// Func is a function in a graph. Pass [Func.Attr] as the attribute of an operation
// that takes a function, and Captures as its captured inputs.
type Func struct {
	Name     string
	In       []Spec            // specs of the arguments, without the captures
	Out      []Spec            // specs of the results
	Stateful bool              // it has operations with state or side effects
	Captures []tfbridge.Output // outputs of the graph that the function was made in
}

// Attr returns the attribute value that names the function.
func (f *Func) Attr() tfbridge.FuncName {
	return tfbridge.FuncName(f.Name)
}

// Inputs returns the captures as one list of inputs.
func (f *Func) Inputs() tfbridge.OutputList {
	return tfbridge.OutputList(f.Captures)
}

// Func makes a function of a closure and adds it to the scope's graph, with the
// functions made inside it. If the scope builds a function's body, Func adds it to
// the graphs around that too.
//
// The closure gets an argument for each element of in. Outputs of the graphs
// around it become captures: first those of captures, in their order, then others
// in the order of use. Operations without outputs, such as Assert, run whenever
// the function runs, because its results wait for them.
//
// After a failure Captures is nil, and Out has 1024 zero Specs, for programs that index
// it. If the scope has already failed, Func does not call the closure. If the closure panics, so does Func.
//
// It wraps TF_GraphToFunction and TF_GraphCopyFunction.
func (s *Scope) Func(name string, in []Spec, captures []tfbridge.Output, fn Body) *Func {
	f := &Func{In: in, Out: unbuilt.Specs()}
	if fn == nil {
		s.fail(fmt.Sprintf("function %q", name), "the closure is nil")
	}
	if s.Err() != nil {
		return f
	}
	d := s.draft(name, in, captures, fn)
	defer d.close()
	if s.Err() != nil {
		return f
	}
	captured := d.captures()
	specs := SpecsOf(d.results)
	if f.Name = d.define(name, captured); f.Name != "" {
		f.Out, f.Captures, f.Stateful = specs, captured, d.state != stateless
	}
	return f
}

// draft is a function's body that is not a function yet.
type draft struct {
	parent  *Scope
	scope   *Scope
	args    []tfbridge.Output
	results []tfbridge.Output
	state   statefulness
}

// draft runs the closure that makes a function's body. The caller closes it.
func (s *Scope) draft(name string, in []Spec, captures []tfbridge.Output, fn Body) *draft {
	d := &draft{parent: s, scope: newScope(tfbridge.NewGraph(), &body{parent: s})}
	d.scope.values = s.values
	built := false
	defer func() {
		if !built { // the closure panicked
			d.close()
		}
	}()
	d.args, d.results = d.scope.build(in, captures, fn)
	built = true
	if d.check(name) {
		d.state = stateOf(d.scope.graph)
	}
	return d
}

// check passes a failure in the body to the scope around it.
func (d *draft) check(name string) bool {
	if err := d.scope.Err(); err != nil {
		d.parent.UpdateErr(fmt.Sprintf("function %q", name), err)
	}
	return d.parent.Err() == nil
}

// close frees the body.
func (d *draft) close() { d.scope.graph.Close() }

// captures returns the outputs that the body has captured, in the graph around it.
func (d *draft) captures() []tfbridge.Output { return slices.Clone(d.scope.state.body.outer) }

// inputs returns the arguments and the placeholders of captures in the body.
func (d *draft) inputs(captures []tfbridge.Output) []tfbridge.Output {
	inputs := slices.Clone(d.args)
	for _, o := range captures {
		inner, _ := d.scope.local("capture", o)
		inputs = append(inputs, inner)
	}
	return inputs
}

// define makes a function of the body, with captures as further arguments, and
// returns its name, "" after a failure.
func (d *draft) define(name string, captures []tfbridge.Output) string {
	inputs := d.inputs(captures)
	if !d.check(name) {
		return ""
	}
	return d.defineWith(name, inputs, nil)
}

// defineWith makes a function of the body with the given inputs and derivative,
// which may be nil.
func (d *draft) defineWith(name string, inputs []tfbridge.Output, gradient *tfbridge.Function) string {
	fn, err := d.function(name, inputs, d.results)
	if err == nil {
		defer fn.Close()
		err = d.parent.install(fn, gradient)
	}
	if err != nil {
		d.parent.UpdateErr(fmt.Sprintf("function %q", name), err)
		return ""
	}
	return fn.Name()
}

// build runs the closure that makes a function's body.
func (s *Scope) build(in []Spec, captures []tfbridge.Output, fn Body) (args, results []tfbridge.Output) {
	for i, p := range in {
		args = append(args, s.argument(fmt.Sprintf("arg%d", i), p))
	}
	captured := make([]tfbridge.Output, len(captures))
	for i, o := range captures {
		captured[i], _ = s.local(fmt.Sprintf("capture %d", i), o)
	}
	if s.Err() != nil {
		return nil, nil
	}
	return args, s.results(fn(s, args, captured))
}

// results gives each result of a function an Identity that waits for the body's
// side effects. Otherwise TensorFlow would prune the effects.
func (s *Scope) results(outputs []tfbridge.Output) []tfbridge.Output {
	after := s.root().WithControlDependencies(s.state.body.effects...)
	results := make([]tfbridge.Output, len(outputs))
	for i, o := range outputs {
		results[i] = after.one(tfbridge.OpSpec{
			Type:  "Identity",
			Name:  fmt.Sprintf("result%d", i),
			Input: []tfbridge.Input{o},
		})
	}
	return results
}

// function makes a function of the body. A hash in its name distinguishes
// functions of one name with different bodies.
func (d *draft) function(name string, in, out []tfbridge.Output) (*tfbridge.Function, error) {
	return tfbridge.NewFunction(d.scope.graph, "__millrace_"+cleanName(name), in, out, &tfbridge.FunctionOptions{AppendHash: true})
}

// install adds a function, and its gradient unless it is nil, to the scope's
// graph and those around it.
func (s *Scope) install(fn, gradient *tfbridge.Function) error {
	for at := s; ; at = at.state.body.parent {
		var err error
		if gradient == nil {
			err = at.graph.AddFunction(fn)
		} else {
			err = at.graph.AddFunctionWithGradient(fn, gradient)
		}
		if err != nil || at.state.body == nil {
			return err
		}
	}
}

// AddFunctions adds functions to the scope's graph and to those around it. The
// caller keeps the functions.
//
// It wraps TF_GraphCopyFunction.
func (s *Scope) AddFunctions(functions ...*tfbridge.Function) {
	for _, f := range functions {
		if s.Err() != nil {
			return
		}
		s.UpdateErr(fmt.Sprintf("function %q", f.Name()), s.install(f, nil))
	}
}

// Call adds a call of a function and returns its results, with the shapes that
// TensorFlow inferred in the function's body.
func Call(s *Scope, f *Func, args ...tfbridge.Output) []tfbridge.Output {
	if f == nil {
		s.fail("call", "the function is nil")
		return unbuilt.Outputs(unbuilt.Many)
	}
	return s.call(f, slices.Concat(args, f.Captures))
}

// call adds a call of a function, of all its inputs.
func (s *Scope) call(f *Func, inputs []tfbridge.Output) []tfbridge.Output {
	op := s.AddOperation(tfbridge.OpSpec{
		Type: callType(f.Stateful), Name: "call", Input: []tfbridge.Input{tfbridge.OutputList(inputs)},
		Attrs: map[string]any{"f": f.Attr(), "Tout": DTypes(f.Out)},
	})
	return s.shaped(Outputs(op), f.Out)
}

// callType returns the type of the operation that calls a function. TensorFlow
// prunes a stateless call if nothing needs its results.
func callType(stateful bool) string {
	if stateful {
		return "StatefulPartitionedCall"
	}
	return "PartitionedCall"
}
