package graph

import (
	"fmt"
	"slices"

	"millrace/tfbridge"
)

// FunctionOptions are the options of Function. Nil and the zero value mean the
// defaults.
type FunctionOptions struct {
	// Gradient builds the derivative, in its own scope. It gets the arguments and a
	// derivative for each result, and returns a derivative for each argument, of the
	// argument's data type. It may capture outputs as the function may. The derivative
	// with respect to captures is then zero. Nil means the derivative that follows from
	// the body's operations.
	Gradient func(s *Scope, args, dy []tfbridge.Output) []tfbridge.Output
}

// Function is [Scope.Func] for a function whose calls have a derivative; see
// [Call] and [Gradients]. The derivative runs the body again unless the options
// give another one.
//
// Without such an option, a function has no derivative if it has state that
// matters, such as random numbers or writes, or operations for which TensorFlow
// has no derivative. [Gradients] then fails.
func (s *Scope) Function(name string, in []Spec, fn func(s *Scope, args []tfbridge.Output) []tfbridge.Output, o *FunctionOptions) *Func {
	f := &Func{In: in}
	if fn == nil {
		s.fail(fmt.Sprintf("function %q", name), "the closure is nil")
	}
	if s.Err() != nil {
		return f
	}
	d := s.draft(name, in, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output { return fn(s, args) })
	defer d.close()
	if s.Err() != nil {
		return f
	}
	if o != nil && o.Gradient != nil {
		d.defineCustom(name, f, o)
		return f
	}
	captures, state, out := d.captures(), d.state, SpecsOf(d.results)
	plain, err := d.function(name, d.inputs(captures), d.results)
	if err != nil {
		s.UpdateErr(fmt.Sprintf("function %q", name), err)
		return f
	}
	defer plain.Close()
	var gradient *tfbridge.Function // nil without a derivative
	defer func() { gradient.Close() }()
	why := errState()
	if state != stateful {
		gradient, _, why = d.gradient(name, d.inputs(captures))
	}
	if why != nil {
		s.noDerivative(plain.Name(), why)
	}
	if err := s.install(plain, gradient); err != nil {
		s.UpdateErr(fmt.Sprintf("function %q", name), err)
		return f
	}
	f.Name, f.Out, f.Captures, f.Stateful = plain.Name(), out, captures, state != stateless
	return f
}

// defineCustom makes f of a body, with a derivative that the options build.
func (d *draft) defineCustom(name string, f *Func, o *FunctionOptions) {
	out := SpecsOf(d.results)
	n := len(d.args)
	what := name + "_gradient"
	g := d.parent.draft(what, slices.Concat(f.In, out), nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return o.Gradient(s, args[:n], args[n:])
	})
	defer g.close()
	if d.parent.Err() != nil || !g.checkCustom(what, f.In) {
		return
	}
	captures := union([]*draft{d, g})
	inputs, all := d.inputs(captures), g.inputs(captures)
	results := slices.Clone(g.results)
	for _, c := range all[len(g.args):] {
		if hasZero(c.DataType()) {
			c = ZerosLike(g.scope.root(), c)
		}
		results = append(results, Identity(g.scope.root(), c))
	}
	if !d.check(name) || !g.check(what) {
		return
	}
	gradient, err := g.function(what, slices.Concat(all[:n], all[len(g.args):], all[n:len(g.args)]), results)
	if err != nil {
		d.parent.UpdateErr(fmt.Sprintf("function %q", what), err)
		return
	}
	defer gradient.Close()
	if f.Name = d.defineWith(name, inputs, gradient); f.Name != "" {
		f.Out, f.Captures, f.Stateful = out, captures, d.state != stateless
	}
}

// checkCustom checks that there is a derivative for each argument.
func (d *draft) checkCustom(what string, in []Spec) bool {
	if len(d.results) != len(in) {
		d.parent.fail(what, "there are %d derivatives for %d arguments", len(d.results), len(in))
		return false
	}
	for i, dx := range d.results {
		if got := dx.DataType(); got != in[i].DType {
			d.parent.fail(what, "the derivative for argument %d is %v and the argument %v", i, got, in[i].DType)
			return false
		}
	}
	return true
}
