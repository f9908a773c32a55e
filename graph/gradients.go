package graph

import (
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// Gradients adds what computes the partial derivatives of the sum of all y with
// respect to each x, and returns them. With dx, the derivatives of some loss
// with respect to each y, they are the loss's (the chain rule).
//
// The operations are named under the scope's prefix and "Gradients/", once for
// each prefix: a second call needs a [Scope.SubScope]. Derivatives go through
// what TensorFlow's C++ library has them for, which is less than Python's, and
// through [Cond], [Case], [While] and [Call]. Control dependencies and
// devices of the scope are a failure: there is no way to apply them.
//
// See [tfbridge.Graph.AddGradients] for what else fails.
func Gradients(s *Scope, y, x []tfbridge.Output, dx ...tfbridge.Output) []tfbridge.Output {
	const what = "Gradients"
	if s.Err() != nil {
		return nil
	}
	switch {
	case len(s.controls) > 0:
		s.fail(what, "the scope has control dependencies, which gradients cannot have")
		return nil
	case s.device != "":
		s.fail(what, "the scope has the device %q, which gradients cannot have", s.device)
		return nil
	}
	err := s.derivable(y)
	var grads []tfbridge.Output
	if err == nil {
		grads, err = s.graph.AddGradients(s.prefix+what, y, x, dx)
	}
	if err != nil {
		s.UpdateErr(what, err)
		return nil
	}
	return grads
}

// noDerivative remembers why an operation or function of ours, by its name, has
// no derivative, in the scope's graph and those around it.
func (s *Scope) noDerivative(name string, why error) {
	for at := s; ; at = at.state.body.parent {
		if at.state.underivable == nil {
			at.state.underivable = map[string]error{}
		}
		at.state.underivable[name] = why
		if at.state.body == nil {
			return
		}
	}
}

// derivable fails if y depends on something of which noDerivative was told:
// TensorFlow would not say why, or only when the graph runs.
func (s *Scope) derivable(y []tfbridge.Output) error {
	if len(s.state.underivable) == 0 {
		return nil
	}
	seen := map[string]bool{}
	queue := slices.Clone(y)
	for len(queue) > 0 {
		op := queue[len(queue)-1].Op
		queue = queue[:len(queue)-1]
		if op == nil || op.Graph() != s.graph || seen[op.Name()] {
			continue
		}
		name := op.Name()
		seen[name] = true
		why := s.state.underivable[name]
		if typ := op.Type(); typ == "PartitionedCall" || typ == "StatefulPartitionedCall" {
			if f, err := op.Attr("f"); err == nil {
				called, _ := f.(tfbridge.FuncName)
				why = s.state.underivable[string(called)]
			}
		}
		if why != nil {
			return millrace.Errorf(millrace.ErrModel, "%s has no derivative: %w", name, why)
		}
		queue = append(queue, op.Inputs()...)
	}
	return nil
}

// errState is why bodies with random numbers or writes have no derivative.
func errState() error {
	return millrace.Errorf(millrace.ErrModel, "it has state that matters, such as random numbers or writes, and would have to run again")
}
