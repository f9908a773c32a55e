package metagraph

import (
	"slices"

	"millrace/sigdef"
)

// describeInputs finds out which inputs of a signature are the components of one
// ragged, sparse or other composite tensor. In models of TensorFlow 2, a signature
// leads to the arguments of the saved function as follows:
//
//	signature      main graph                    library
//	x, x_1    ->   serving_default_x   ─┐
//	               serving_default_x_1 ─┴─ call  signature_wrapper(x, x_1)
//	                                               call  serve(x, x_1)  <- in the object graph
//
// This information is only descriptive. In a model with another structure the inputs
// stay plain.
func (m *Graph) describeInputs(s *sigdef.Signature) {
	for _, out := range s.Outputs {
		call, _ := m.Node(ParseRef(out.Node).Node)
		wrapper := m.calleeOf(call)
		if wrapper == nil {
			continue
		}
		for _, b := range wrapper.Nodes {
			inner := ParseNode(b)
			if fn := m.calleeOf(inner); fn != nil {
				if found := sigdef.InputComponents(m.Objects, fn.Name); found != nil {
					m.describe(s, found, func(i int) string { return argumentOf(call, wrapper, inner, i) })
					return
				}
			}
		}
	}
}

// argumentOf returns the tensor of the main graph that is argument i of the inner
// call, "" if there is none.
func argumentOf(call Node, wrapper *Function, inner Node, i int) string {
	in := inner.DataInputs()
	if i >= len(in) {
		return ""
	}
	at := wrapper.Input(in[i])
	if outer := call.DataInputs(); at >= 0 && at < len(outer) {
		return ParseRef(outer[at]).String()
	}
	return ""
}

// describe sets the encodings of a signature's inputs from the components. tensor
// returns the tensor of the main graph that is component i.
func (m *Graph) describe(s *sigdef.Signature, components []sigdef.Component, tensor func(i int) string) {
	whole := ""
	for i, c := range components {
		at := slices.IndexFunc(s.Inputs, func(t sigdef.Tensor) bool { return t.Node == tensor(i) })
		if at < 0 {
			return
		}
		t := &s.Inputs[at]
		if c.First {
			whole = t.Name
		}
		if c.Encoding != sigdef.Dense {
			t.Encoding, t.Whole, t.Component = c.Encoding, whole, c.Name
		}
	}
}
