package graph

import (
	"fmt"

	"millrace/tfbridge"
)

// body is the state of a scope whose graph is the body of a function.
type body struct {
	parent  *Scope
	outer   []tfbridge.Output // captures, in the parent's graph
	inner   []tfbridge.Output // the placeholder of each in the body
	effects []*tfbridge.Operation
}

// input converts an input of an operation to the scope's graph: it captures
// outputs of the graphs around it.
func (s *Scope) input(what string, in tfbridge.Input) (tfbridge.Input, bool) {
	switch in := in.(type) {
	case tfbridge.Output:
		return s.local(what, in)
	case tfbridge.OutputList:
		list := make(tfbridge.OutputList, len(in))
		for i, o := range in {
			var ok bool
			if list[i], ok = s.local(fmt.Sprintf("%s[%d]", what, i), o); !ok {
				return nil, false
			}
		}
		return list, true
	}
	return in, true
}

// local returns o in the scope's graph: o itself, or the placeholder of a capture
// if o belongs to a graph around this function body.
func (s *Scope) local(what string, o tfbridge.Output) (tfbridge.Output, bool) {
	if s.Err() != nil {
		return tfbridge.Output{}, false
	}
	switch {
	case o.Op == nil:
		s.fail(what, "the output is not set")
		return tfbridge.Output{}, false
	case o.Op.Graph() == s.graph:
		return o, true
	case !s.inside(o.Op.Graph()):
		s.fail(what, "output %v belongs to another graph", o)
		return tfbridge.Output{}, false
	}
	return s.state.body.capture(s, what, o)
}

// inside reports whether the scope builds a function body within graph g.
func (s *Scope) inside(g *tfbridge.Graph) bool {
	for b := s.state.body; b != nil; b = b.parent.state.body {
		if b.parent.graph == g {
			return true
		}
	}
	return false
}

// capture returns the placeholder for o, an output of a graph around the scope's
// graph. Each graph in between captures o too.
func (b *body) capture(s *Scope, what string, o tfbridge.Output) (tfbridge.Output, bool) {
	outer, ok := b.parent.local(what, o)
	if !ok {
		s.UpdateErr(what, b.parent.Err())
		return tfbridge.Output{}, false
	}
	for i, have := range b.outer {
		if have == outer {
			return b.inner[i], true
		}
	}
	inner := s.root().argument(fmt.Sprintf("capture%d", len(b.outer)), SpecOf(outer))
	b.outer = append(b.outer, outer)
	b.inner = append(b.inner, inner)
	return inner, s.Err() == nil
}

// root returns the scope of s's graph without prefix, control dependencies and
// device.
func (s *Scope) root() *Scope {
	return &Scope{graph: s.graph, state: s.state}
}

// argument adds the placeholder of a function's argument or capture.
func (s *Scope) argument(name string, p Spec) tfbridge.Output {
	return s.one(tfbridge.OpSpec{
		Type:  "Placeholder",
		Name:  name,
		Attrs: map[string]any{"dtype": p.DType, "shape": p.Shape},
	})
}
