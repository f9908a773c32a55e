package gradients

import (
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// cut is the body of a loop and its derivative, in two parts.
type cut struct {
	lib       *library
	n         int // number of variables
	nodes     map[string]*tfproto.NodeDef
	args      []tfbridge.Output // only their names are used after the graph is closed
	argNames  []string
	results   []tensor
	invariant map[int]bool // variables that the body passes on unchanged

	before []string // the nodes of the body, in order
	after  []string // the nodes of the derivative, in order
	kept   []kept   // values of the body that the derivative needs
	shared map[int]bool
	seeds  []string // the placeholders of the derivatives of the results
	dx     []tensor // the derivatives of the variables
}

// kept is a value of each iteration.
type kept struct {
	value tensor
	spec  graph.Spec
}

// cheap holds the types of operations that the body computes for the derivative, so
// that their results are kept instead of their inputs: a shape takes less memory than
// its tensor.
var cheap = map[string]bool{"Shape": true, "ShapeN": true, "Size": true, "Rank": true}

// make divides the operations of a graph. The operations in forward belong to the body.
func (c *cut) make(s *graph.Scope, forward map[string]bool, dy, dx []tfbridge.Output) error {
	nodes, order, err := graphDef(s)
	if err != nil {
		return err
	}
	c.nodes = nodes
	arg, seed := map[string]int{}, map[string]bool{}
	for i, a := range c.args {
		c.argNames = append(c.argNames, a.Op.Name())
		arg[a.Op.Name()] = i
	}
	for _, d := range dy {
		c.seeds = append(c.seeds, d.Op.Name())
		seed[d.Op.Name()] = true
	}
	c.shared = map[int]bool{}
	keeping := map[tensor]bool{}
	copied := map[string]bool{}
	keep := func(r ref) ref {
		o := tfbridge.Output{Op: s.Graph().Operation(r.node), Index: r.index}
		o = origin(o)
		t := tensorOf(o)
		i, isArg := arg[t.op]
		switch {
		case o.Op.Type() == "Const":
			if !copied[t.op] {
				copied[t.op] = true
				c.after = append(c.after, t.op)
			}
		case isArg && c.invariant[i]:
			c.shared[i] = true
		case !keeping[t]:
			keeping[t] = true
			c.kept = append(c.kept, kept{t, graph.SpecOf(o)})
		}
		return ref{t.op, t.index}
	}
	for _, name := range order {
		n := nodes[name]
		_, isArg := arg[name]
		if isArg || seed[name] {
			continue
		}
		if forward[name] || cheap[n.Op] && allIn(n, forward) {
			forward[name] = true
			c.before = append(c.before, name)
			continue
		}
		for i, input := range n.Input {
			if r := parseRef(input); r.index >= 0 && forward[r.node] {
				n.Input[i] = keep(r).String()
			}
		}
		c.after = append(c.after, name)
	}
	for _, d := range dx {
		t := tensorOf(d)
		if forward[t.op] {
			r := keep(ref{t.op, t.index})
			t = tensor(r.tensor())
		}
		c.dx = append(c.dx, t)
	}
	return nil
}

func (r ref) tensor() tensor { return tensor{r.node, r.index} }
func (t tensor) ref() ref    { return ref{t.op, t.index} }

// allIn reports whether all inputs of a node are among nodes.
func allIn(n *tfproto.NodeDef, nodes map[string]bool) bool {
	for _, in := range n.Input {
		if !nodes[strings.TrimPrefix(parseRef(in).node, "^")] {
			return false
		}
	}
	return true
}

// part imports one part of the cut.
func (c *cut) part(s *graph.Scope, names []string, bind func(*importer), outputs []tensor) []tfbridge.Output {
	im := newImporter(s, c.lib)
	bind(im)
	for _, name := range names {
		im.pending = append(im.pending, c.nodes[name])
	}
	err := im.flush()
	results := make([]tfbridge.Output, len(outputs))
	for i, t := range outputs {
		if err == nil {
			results[i], err = im.output(t.ref())
		}
	}
	if err != nil {
		s.UpdateErr("gradients", millrace.Errorf(millrace.ErrInternal, "a loop's derivative: %w", err))
		return nil
	}
	return results
}

// forward adds the body of the recording loop: args are the variables, a list for
// each kept value, and the number of iterations.
func (c *cut) forward(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	wanted := c.results
	for _, k := range c.kept {
		wanted = append(wanted[:len(wanted):len(wanted)], k.value)
	}
	results := c.part(s, c.before, func(im *importer) {
		for i, name := range c.argNames {
			im.bind(ref{name, 0}, args[i], false)
		}
	}, wanted)
	if s.Err() != nil {
		return nil
	}
	for i, k := range c.kept {
		results[c.n+i] = s.Op1("TensorListPushBack", map[string]any{"element_dtype": k.spec.DType}, args[c.n+i], results[c.n+i])
	}
	return append(results, graph.Add(s, args[len(args)-1], s.Const(int32(1))))
}

// backward adds the derivative of the body. values are the kept values of an
// iteration, shared the variables that never change, by their numbers.
func (c *cut) backward(s *graph.Scope, dy, values []tfbridge.Output, shared map[int]tfbridge.Output) []tfbridge.Output {
	return c.part(s, c.after, func(im *importer) {
		for i, name := range c.seeds {
			im.bind(ref{name, 0}, dy[i], false)
		}
		for i, k := range c.kept {
			im.bind(k.value.ref(), values[i], false)
		}
		for i, o := range shared {
			im.bind(ref{c.argNames[i], 0}, o, false)
		}
	}, c.dx)
}
