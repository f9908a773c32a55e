package gradients

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// cut is the body of a loop and its derivative, in two parts.
type cut struct {
	lib      *library
	n        int // number of variables
	nodes    map[string]*tfproto.NodeDef
	args     []tfbridge.Output // only their names are used after the graph is closed
	argNames []string
	results  []tensor
	fixed    map[int]bool  // variables that the body passes on unchanged
	counters map[int]int64 // variables that grow by a constant in each iteration

	before []string // the nodes of the body, in order
	after  []string // the nodes of the derivative, in order
	again  map[string]*tfproto.NodeDef
	kept   []kept // values of the body that the derivative needs, with a list each
	packed []kept // shapes of the body that the derivative needs, which share one list
	shared map[int]bool
	seeds  []string // the placeholders of the derivatives of the results
	dx     []tensor // the derivatives of the variables
}

// kept is a value of each iteration.
type kept struct {
	value tensor
	spec  graph.Spec
}

// Each list costs an iteration about eight operations: one that pushes, one that pops,
// and three in each loop that pass the list on. In an LSTM with small layers that takes
// longer than the multiplications. So a value gets a list only if there is no cheaper
// way to have it in the derivative's loop:
//
//   - The derivative's loop repeats constants.
//   - It takes the variables that never change from the loop's inputs.
//   - It computes a counter from the number of iterations.
//   - It repeats cheap operations whose inputs it has anyway, such as 1 - z of a GRU.
//   - It takes the shapes of values that it has. The other shapes of an iteration are
//     joined to one vector and share a list.

// shapes holds the types of operations that the body computes for the derivative, so
// that their results are kept instead of their inputs: a shape takes less memory than
// its tensor.
var shapes = map[string]bool{"Shape": true, "ShapeN": true, "Size": true, "Rank": true}

// cheap holds the types of operations that the derivative repeats if it has the inputs.
var cheap = map[string]bool{"Sub": true, "Neg": true, "Cast": true, "Reshape": true, "ExpandDims": true, "Squeeze": true, "LogicalNot": true}

// make divides the operations of a graph. The operations in forward belong to the body.
func (c *cut) make(s *graph.Scope, forward map[string]bool, dy, dx []tfbridge.Output) error {
	nodes, order, err := graphDef(s)
	if err != nil {
		return err
	}
	c.nodes, c.again, c.shared = nodes, map[string]*tfproto.NodeDef{}, map[int]bool{}
	p := &partition{cut: c, scope: s, forward: forward, skip: map[string]bool{}, wanted: map[tensor]bool{}, have: map[tensor]bool{},
		known: map[shapeKey]tensor{}, same: map[tensor]tensor{}}
	for _, a := range c.args {
		c.argNames = append(c.argNames, a.Op.Name())
		p.skip[a.Op.Name()] = true
		for _, in := range a.Op.Inputs() { // of a list that stands for the argument
			p.skip[in.Op.Name()] = true
		}
	}
	for _, d := range dy {
		c.seeds = append(c.seeds, d.Op.Name())
		p.skip[d.Op.Name()] = true
	}
	for _, name := range order {
		if !p.skip[name] {
			p.order = append(p.order, name)
		}
	}
	p.want(dx)
	p.divide()
	for _, d := range dx {
		c.dx = append(c.dx, tensorOf(p.source(tensorOf(d))))
	}
	return nil
}

// partition is the work of make.
type partition struct {
	*cut
	scope   *graph.Scope
	order   []string // the nodes without the arguments, inputs first
	forward map[string]bool
	skip    map[string]bool
	wanted  map[tensor]bool // values of the body that the derivative takes
	have    map[tensor]bool // those of them that are settled

	known map[shapeKey]tensor // the shapes that are kept
	same  map[tensor]tensor   // shapes of values whose shape is kept already
}

// shapeKey is the shape of a value, as integers of a data type.
type shapeKey struct {
	value tensor
	dtype tfbridge.DataType
}

// isShape reports whether a node takes the shape of a value of the body, for the
// derivative.
func (p *partition) isShape(n *tfproto.NodeDef) bool {
	return !p.forward[n.Name] && shapes[n.Op] && allIn(n, p.forward)
}

// source returns the output that a tensor of the body passes on.
func (p *partition) source(t tensor) tfbridge.Output {
	o := tfbridge.Output{Op: p.scope.Graph().Operation(t.op), Index: t.index}
	if !p.forward[t.op] {
		return o
	}
	return origin(o)
}

// want collects the values of the body that the derivative takes, but for shapes.
func (p *partition) want(dx []tfbridge.Output) {
	add := func(t tensor) {
		if p.forward[t.op] {
			p.wanted[tensorOf(p.source(t))] = true
		}
	}
	for _, name := range p.order {
		n := p.nodes[name]
		if p.forward[name] || p.isShape(n) {
			continue
		}
		for _, input := range n.Input {
			if r := parseRef(input); r.index >= 0 {
				add(r.tensor())
			}
		}
	}
	for _, d := range dx {
		add(tensorOf(d))
	}
}

// divide settles how the derivative gets each value, and which nodes each part has.
func (p *partition) divide() {
	for i, name := range p.argNames {
		if t := (tensor{name, 0}); p.wanted[t] {
			p.settleArgument(t, i)
		}
	}
	for _, name := range p.order {
		if n := p.nodes[name]; p.forward[name] {
			p.before = append(p.before, name)
			p.settle(n)
		}
	}
	for _, name := range p.order {
		n := p.nodes[name]
		switch {
		case p.forward[name]:
		case p.isShape(n) && !p.hasAll(n):
			p.before = append(p.before, name)
			for i := range p.scope.Graph().Operation(name).NumOutputs() {
				p.keepShape(tensor{name, i})
			}
		default:
			p.repeat(n)
		}
	}
	if len(p.packed) == 1 {
		p.kept, p.packed = append(p.kept, p.packed[0]), nil
	}
}

// settleArgument settles a variable, which needs no list if it never changes or counts.
func (p *partition) settleArgument(t tensor, i int) {
	if _, counts := p.counters[i]; p.fixed[i] || counts {
		p.shared[i], p.have[t] = true, true
	} else {
		p.keep(t)
	}
}

// settle settles the wanted values of a node of the body.
func (p *partition) settle(n *tfproto.NodeDef) {
	op := p.scope.Graph().Operation(n.Name)
	var values []tensor
	for i := range op.NumOutputs() {
		if t := (tensor{n.Name, i}); p.wanted[t] {
			values = append(values, t)
		}
	}
	switch {
	case len(values) == 0:
	case n.Op == "Const" || (cheap[n.Op] || n.Op == "Shape") && p.hasAll(n):
		p.have[values[0]] = true
		p.repeat(n)
	default:
		for _, t := range values {
			p.keep(t)
		}
	}
}

// hasAll reports whether the derivative has all inputs of a node of the body.
func (p *partition) hasAll(n *tfproto.NodeDef) bool {
	for _, input := range n.Input {
		r := parseRef(input)
		if r.index >= 0 && !p.has(r.tensor()) {
			return false
		}
	}
	return true
}

// has reports whether the derivative has a value of the body, or may repeat its
// constant.
func (p *partition) has(t tensor) bool {
	o := p.source(t)
	return p.have[tensorOf(o)] || o.Op.Type() == "Const"
}

// repeat adds a node to the derivative. Its inputs that belong to the body become the
// values that the derivative has.
func (p *partition) repeat(n *tfproto.NodeDef) {
	if p.again[n.Name] != nil {
		return
	}
	n = proto.Clone(n).(*tfproto.NodeDef)
	var inputs []string
	for _, input := range n.Input {
		r := parseRef(input)
		if p.forward[r.node] || p.skip[r.node] {
			if r.index < 0 {
				continue
			}
			o := p.source(r.tensor())
			if o.Op.Type() == "Const" {
				p.repeat(p.nodes[o.Op.Name()])
			}
			input = tensorOf(o).ref().String()
		} else if same, ok := p.same[parseRef(input).tensor()]; ok {
			input = same.ref().String()
		}
		inputs = append(inputs, input)
	}
	n.Input = inputs
	p.again[n.Name] = n
	p.after = append(p.after, n.Name)
}

// keep gives a value a list.
func (p *partition) keep(t tensor) {
	p.have[t] = true
	p.kept = append(p.kept, kept{t, p.spec(t)})
}

// keepShape keeps a shape, with the others of its iteration if its length is known. One
// value has one shape.
func (p *partition) keepShape(t tensor) {
	k := kept{t, p.spec(t)}
	if n := p.nodes[t.op]; n.Op == "Shape" {
		of := shapeKey{tensorOf(p.source(parseRef(n.Input[0]).tensor())), k.spec.DType}
		if same, ok := p.known[of]; ok {
			p.same[t] = same
			return
		}
		p.known[of] = t
	}
	if k.spec.DType == tfbridge.Int32 && k.spec.Shape.NumDimensions() == 1 && k.spec.Shape.Size(0) > 0 {
		p.packed = append(p.packed, k)
	} else {
		p.kept = append(p.kept, k)
	}
}

func (p *partition) spec(t tensor) graph.Spec {
	return graph.SpecOf(tfbridge.Output{Op: p.scope.Graph().Operation(t.op), Index: t.index})
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
func (c *cut) part(s *graph.Scope, nodes []*tfproto.NodeDef, bind func(*importer), outputs []tensor) []tfbridge.Output {
	im := newImporter(s, c.lib)
	bind(im)
	im.pending = nodes
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

// lists returns the specs of the elements of each list.
func (c *cut) lists() []graph.Spec {
	var specs []graph.Spec
	for _, k := range c.kept {
		specs = append(specs, k.spec)
	}
	if len(c.packed) > 0 {
		total := int64(0)
		for _, k := range c.packed {
			total += k.spec.Shape.Size(0)
		}
		specs = append(specs, graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(total)})
	}
	return specs
}

// forward adds the body of the recording loop: args are the variables, the lists, and
// the number of iterations.
func (c *cut) forward(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	wanted := c.results[:len(c.results):len(c.results)]
	for _, k := range append(c.kept[:len(c.kept):len(c.kept)], c.packed...) {
		wanted = append(wanted, k.value)
	}
	var nodes []*tfproto.NodeDef
	for _, name := range c.before {
		nodes = append(nodes, c.nodes[name])
	}
	found := c.part(s, nodes, func(im *importer) {
		for i, name := range c.argNames {
			im.bind(ref{name, 0}, args[i], false)
		}
	}, wanted)
	if s.Err() != nil {
		return nil
	}
	results, values := found[:c.n:c.n], found[c.n:]
	if len(c.packed) > 0 {
		n := len(c.kept)
		values = append(values[:n:n], graph.ConcatV2(s, values[n:], 0))
	}
	for i, spec := range c.lists() {
		results = append(results, s.Op1("TensorListPushBack", map[string]any{"element_dtype": spec.DType}, args[c.n+i], values[i]))
	}
	return append(results, graph.Add(s, args[len(args)-1], s.Const(int32(1))))
}

// backward adds the derivative of the body. values are the popped values of an
// iteration, shared the variables that need no list, by their numbers.
func (c *cut) backward(s *graph.Scope, dy, values []tfbridge.Output, shared map[int]tfbridge.Output) []tfbridge.Output {
	var nodes []*tfproto.NodeDef
	for _, name := range c.after {
		nodes = append(nodes, c.again[name])
	}
	return c.part(s, nodes, func(im *importer) {
		for i, name := range c.seeds {
			im.bind(ref{name, 0}, dy[i], false)
		}
		for i, k := range c.kept {
			im.bind(k.value.ref(), values[i], false)
		}
		for i, o := range c.unpack(s, values[len(c.kept):]) {
			im.bind(c.packed[i].value.ref(), o, false)
		}
		for i, o := range shared {
			im.bind(ref{c.argNames[i], 0}, o, false)
		}
	}, c.dx)
}

// unpack divides the vector of the shapes.
func (c *cut) unpack(s *graph.Scope, joined []tfbridge.Output) []tfbridge.Output {
	if len(c.packed) == 0 || s.Err() != nil {
		return nil
	}
	var sizes []int32
	for _, k := range c.packed {
		sizes = append(sizes, int32(k.spec.Shape.Size(0)))
	}
	return s.Op("SplitV", map[string]any{"num_split": len(sizes)}, joined[0], s.Const(sizes), s.Const(int32(0)))
}
