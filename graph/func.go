package graph

import (
	"fmt"

	"millrace/tfbridge"
)

// Body builds a function's body in a scope of its own: from the arguments, and
// what stands for the captures asked for, it makes the results.
type Body func(s *Scope, args, captured []tfbridge.Output) []tfbridge.Output

// Func is a function in a graph. Pass [Func.Attr] where an operation wants a
// function, and Captures, as inputs, where it wants the captured values.
type Func struct {
	Name     string
	In       []Spec            // of the arguments, without the captures
	Out      []Spec            // of the results
	Captures []tfbridge.Output // in the graph that the function was made in
}

// Attr returns the attribute value that names the function.
func (f *Func) Attr() tfbridge.FuncName {
	return tfbridge.FuncName(f.Name)
}

// Inputs returns the captures as one list of inputs.
func (f *Func) Inputs() tfbridge.OutputList {
	return tfbridge.OutputList(f.Captures)
}

// Func makes a function of a closure and adds it, with the functions made
// within it, to the scope's graph, and to the graphs around it if the scope is
// itself a function's.
//
// The closure gets an argument for each of in. Outputs of the graphs around it
// that it uses become captures, those of captures first, in their order, then
// others in the order of use. Operations without outputs, such as Assert, run
// whenever the function runs: its results wait for them.
//
// After a failure, here or earlier, Out and Captures are nil; the closure is
// not called after an earlier one.
//
// It wraps TF_GraphToFunction and TF_GraphCopyFunction.
func (s *Scope) Func(name string, in []Spec, captures []tfbridge.Output, fn Body) *Func {
	f := &Func{In: in}
	if s.Err() != nil {
		return f
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	b := &body{parent: s}
	inner := newScope(g, b)
	args, results := inner.build(in, captures, fn)
	if err := inner.Err(); err != nil {
		s.UpdateErr(fmt.Sprintf("function %q", name), err)
		return f
	}
	specs := SpecsOf(results)
	if err := s.convert(f, name, g, append(args, b.inner...), results); err != nil {
		s.UpdateErr(fmt.Sprintf("function %q", name), err)
		return f
	}
	f.Out, f.Captures = specs, b.outer
	return f
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

// results makes each result of a function an output of its own that waits for
// the body's side effects. Without that TensorFlow would prune the effects.
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

// convert makes a function of a body and copies it into s's graph and those
// around it. A hash in the name tells functions apart that have one name but
// not one body, whichever scope of the graph they come from.
func (s *Scope) convert(f *Func, name string, g *tfbridge.Graph, in, out []tfbridge.Output) error {
	fn, err := tfbridge.NewFunction(g, "__millrace_"+cleanName(name), in, out, &tfbridge.FunctionOptions{AppendHash: true})
	if err != nil {
		return err
	}
	defer fn.Close()
	f.Name = fn.Name()
	for at := s; ; at = at.state.body.parent {
		if err := at.graph.AddFunction(fn); err != nil {
			return err
		}
		if at.state.body == nil {
			return nil
		}
	}
}

// Call adds a call of a function and returns its results, with the shapes that
// TensorFlow inferred in the function's body.
func Call(s *Scope, f *Func, args ...tfbridge.Output) []tfbridge.Output {
	inputs := append(append(tfbridge.OutputList{}, args...), f.Captures...)
	op := s.AddOperation(tfbridge.OpSpec{
		Type:  "StatefulPartitionedCall",
		Name:  "call",
		Input: []tfbridge.Input{inputs},
		Attrs: map[string]any{"f": f.Attr(), "Tout": DTypes(f.Out)},
	})
	outputs := make([]tfbridge.Output, len(f.Out))
	for i, o := range Outputs(op) {
		outputs[i] = o
		if f.Out[i].Shape.NumDimensions() >= 0 {
			outputs[i] = EnsureShape(s, o, f.Out[i].Shape)
		}
	}
	return outputs
}
