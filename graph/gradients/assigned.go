package gradients

import (
	"slices"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// # Variables that are trained and assigned
//
// A spectral normalization of Keras assigns its kernel in each step, and the optimizer trains it.
// In TensorFlow nothing flows back through an assignment, and the derivative with respect to the
// variable is the sum of the derivatives of all reads, before and after it:
//
//	a = read(v)          w = StopGradient(f(a))      dv = da + dw
//	v.assign(f(a))  -->
//	b = read(v)          b = w
//
// So the values that a variable has one after the other are leaves, each of them. The assignments
// keep the ref of the value before ([graph.PreviousAttr]); an assignment in a condition or a loop
// ends the chain, and then not all reads are known.

// previous returns the ref of the value before an assignment.
func previous(n *tfproto.NodeDef) (before string, ok bool) {
	a, ok := n.Attr[graph.PreviousAttr]
	return string(a.GetS()), ok
}

func previousAttr(before string) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(before)}}
}

// assignedTo returns the refs of the values that are assigned to a variable, the last one first.
// whole is false if there are others.
func assignedTo(nodes map[string]*tfproto.NodeDef, variable, last string) (refs []ref, whole bool) {
	r := parseRef(last)
	for r != (ref{variable, 0}) {
		n := nodes[r.node]
		if n == nil || slices.Contains(refs, r) {
			return nil, false
		}
		before, ok := previous(n)
		if !ok {
			return nil, false
		}
		refs, r = append(refs, r), parseRef(before)
	}
	return refs, true
}

// assigned returns the values that the graph assigns to a variable.
func (o *Opened) assigned(v Variable) []tfbridge.Output {
	for _, c := range o.Changes {
		if c.Variable.Node == v.Node {
			return c.Assigned
		}
	}
	return nil
}

// withAssigned adds the derivatives of a variable's assigned values to the one of its first value.
func (w *walk) withAssigned(v Variable, first Gradient, assigned []tfbridge.Output) Gradient {
	var parts tfbridge.OutputList
	for _, o := range assigned {
		if d := w.sum(tensorOf(o)); d.Op != nil {
			parts = append(parts, d)
		}
	}
	if len(parts) == 0 || w.scope.Err() != nil {
		return first
	}
	if first.Value.Op != nil {
		parts = append(parts, first.Dense(w.scope, v))
	}
	if len(parts) == 1 {
		return Gradient{Value: parts[0]}
	}
	return Gradient{Value: w.scope.Op1("AddN", nil, parts)}
}
