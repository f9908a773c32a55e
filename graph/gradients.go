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
	grads, err := s.addGradients(s.prefix+what, y, x, dx)
	if err != nil {
		s.UpdateErr(what, err)
		return nil
	}
	return grads
}

// addGradients adds gradients. Calls of functions on the way want a derivative
// for each of their results, which TensorFlow does not see to: those of which
// y does not need all get some of zero.
func (s *Scope) addGradients(prefix string, y, x, dx []tfbridge.Output) ([]tfbridge.Output, error) {
	if len(dx) != 0 && len(dx) != len(y) {
		return nil, millrace.Errorf(millrace.ErrModel, "%d derivatives for %d results", len(dx), len(y))
	}
	unseeded := s.callResults(y)
	if len(unseeded) > 0 {
		y, dx = slices.Clone(y), slices.Clone(dx)
		if len(dx) == 0 {
			for _, o := range y {
				dx = append(dx, s.Op1("OnesLike", nil, o))
			}
		}
		for i, o := range y { // which may be a call's own
			y[i] = Identity(s, o)
		}
		for _, o := range unseeded {
			y, dx = append(y, Identity(s, o)), append(dx, ZerosLike(s, o))
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return s.graph.AddGradients(prefix, y, x, dx)
}

// callResults returns the results of the calls that y depends on, as far as
// there is a zero of their type.
func (s *Scope) callResults(y []tfbridge.Output) []tfbridge.Output {
	var results []tfbridge.Output
	seen := map[string]bool{}
	queue := slices.Clone(y)
	for len(queue) > 0 {
		op := queue[len(queue)-1].Op
		queue = queue[:len(queue)-1]
		if op == nil || op.Graph() != s.graph || seen[op.Name()] {
			continue
		}
		seen[op.Name()] = true
		if typ := op.Type(); typ == "PartitionedCall" || typ == "StatefulPartitionedCall" {
			for _, o := range Outputs(op) {
				if hasZero(o.DataType()) {
					results = append(results, o)
				}
			}
		}
		queue = append(queue, op.Inputs()...)
	}
	return results
}
