package graph

import (
	"millrace"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Gradients adds operations that compute the partial derivatives of the sum of all
// y with respect to each x, and returns them. If dx holds the derivatives of a loss
// with respect to each y, the results are the derivatives of that loss (the chain
// rule).
//
// The names of the operations begin with the scope's prefix and "Gradients/". Each
// prefix can be used once; use a [Scope.SubScope] for a second call. Gradients
// differentiates the operations for which TensorFlow's C++ library has a derivative,
// which are fewer than in Python, and [Cond], [Case], [While] and [Call]. Package
// graph/gradients differentiates more, including loops that this package did not build.
// A scope with control dependencies or a device is a failure, because they cannot be
// applied.
//
// See [tfbridge.Graph.AddGradients] for what else fails.
func Gradients(s *Scope, y, x []tfbridge.Output, dx ...tfbridge.Output) []tfbridge.Output {
	const what = "Gradients"
	if s.Err() != nil {
		return unbuilt.Outputs(len(x))
	}
	switch {
	case len(s.controls) > 0:
		s.fail(what, "the scope has control dependencies, which gradients cannot have")
		return unbuilt.Outputs(len(x))
	case s.device != "":
		s.fail(what, "the scope has the device %q, which gradients cannot have", s.device)
		return unbuilt.Outputs(len(x))
	}
	y, x, dx = s.locals(what, y), s.locals(what, x), s.locals(what, dx)
	if s.Err() != nil {
		return unbuilt.Outputs(len(x))
	}
	err := s.derivable(y, x)
	var grads []tfbridge.Output
	if err == nil {
		grads, err = s.addGradients(s.prefix+what, y, x, dx)
	}
	if err != nil {
		s.UpdateErr(what, err)
		return unbuilt.Outputs(len(x))
	}
	return grads
}

// addGradients adds the gradients under a prefix that the graph must not have yet. It
// looks up the names that the graph's scopes have given out. TensorFlow itself reports
// a prefix that came with an import.
func (s *Scope) addGradients(prefix string, y, x, dx []tfbridge.Output) ([]tfbridge.Output, error) {
	if _, used := s.state.names[prefix]; used || s.graph.Operation(prefix) != nil {
		return nil, millrace.Errorf(millrace.ErrModel,
			"the graph already has operations named %q; a second call needs a scope of its own, from SubScope", prefix)
	}
	s.state.names[prefix] = 0
	return s.graph.AddGradients(prefix, y, x, dx)
}

// locals returns outputs in the scope's graph; see local.
func (s *Scope) locals(what string, outputs []tfbridge.Output) []tfbridge.Output {
	var out []tfbridge.Output
	for _, o := range outputs {
		here, _ := s.local(what, o)
		out = append(out, here)
	}
	return out
}

// underivable holds why operations and functions of a graph have no derivative.
type underivable struct {
	ops, functions map[string]error
}

// noDerivative remembers why a function has no derivative, in all graphs that
// may call it.
func (s *Scope) noDerivative(function string, why error) {
	for at := s; ; at = at.state.body.parent {
		at.state.underivable.functions = with(at.state.underivable.functions, function, why)
		if at.state.body == nil {
			return
		}
	}
}

// without records why the operation of outputs has no derivative, unless why is
// nil because none is wanted. It returns the outputs.
func (s *Scope) without(outputs []tfbridge.Output, why error) []tfbridge.Output {
	if why != nil && s.Err() == nil && len(outputs) > 0 {
		s.state.underivable.ops = with(s.state.underivable.ops, outputs[0].Op.Name(), why)
	}
	return outputs
}

// with adds to a map, which may be nil.
func with(m map[string]error, name string, why error) map[string]error {
	if m == nil {
		m = map[string]error{}
	}
	m[name] = why
	return m
}

// underivable returns why an operation has no derivative, nil if that is not
// known.
func (s *Scope) underivable(op *tfbridge.Operation) error {
	if why := s.state.underivable.ops[op.Name()]; why != nil {
		return why
	}
	if typ := op.Type(); typ != "PartitionedCall" && typ != "StatefulPartitionedCall" {
		return nil
	}
	f, err := op.Attr("f")
	if err != nil {
		return nil // TensorFlow will say what is wrong
	}
	name, _ := f.(tfbridge.FuncName)
	for at := s; ; at = at.state.body.parent {
		if why := at.state.underivable.functions[string(name)]; why != nil || at.state.body == nil {
			return why
		}
	}
}

// reasons reports whether anything is known to have no derivative.
func (s *Scope) reasons() bool {
	for at := s; ; at = at.state.body.parent {
		u := &at.state.underivable
		if len(u.ops)+len(u.functions) > 0 || at.state.body == nil {
			return len(u.ops)+len(u.functions) > 0
		}
	}
}

// derivable returns an error if y depends on x through an operation that is known
// to have no derivative. TensorFlow would not say why, or only when the graph runs.
func (s *Scope) derivable(y, x []tfbridge.Output) error {
	if !s.reasons() {
		return nil
	}
	p := paths{scope: s, from: map[string]bool{}, reach: map[string]bool{}}
	for _, o := range x {
		p.from[o.Op.Name()] = true
	}
	for _, o := range y {
		p.visit(o.Op)
	}
	return p.err
}

// paths finds the operations between two sets.
type paths struct {
	scope *Scope
	from  map[string]bool
	reach map[string]bool // whether each visited operation depends on from
	err   error           // why the first operation without a derivative has none
}

// visit returns whether an operation is in from or depends on it.
func (p *paths) visit(op *tfbridge.Operation) bool {
	name := op.Name()
	if known, ok := p.reach[name]; ok {
		return known
	}
	p.reach[name] = p.from[name] // while its inputs are seen: loops have cycles
	between := false
	for _, in := range op.Inputs() {
		between = p.visit(in.Op) || between
	}
	if between {
		p.reach[name] = true
		if why := p.scope.underivable(op); why != nil && p.err == nil {
			p.err = millrace.Errorf(millrace.ErrModel, "%s has no derivative: %w", name, why)
		}
	}
	return p.reach[name]
}

// errState is the reason why bodies with random numbers or writes have no
// derivative.
func errState() error {
	return millrace.Errorf(millrace.ErrModel, "it has state that matters, such as random numbers or writes, and would have to run again")
}
