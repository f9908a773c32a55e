package gradients

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// importer brings nodes into the graph of a scope, inputs first. A loop whose variables
// depend on trained inputs is imported in another form, which keeps the values that its
// derivative needs; see record.
type importer struct {
	scope *graph.Scope
	lib   *library
	refs  map[ref]tfbridge.Output // replacements of nodes' outputs: a fed tensor, an argument, a loop's result
	train map[ref]bool            // refs that depend on trained inputs
	loops map[string]*recorded    // key: the name of a loop's operation

	elements map[ref]graph.Spec // the elements of lists that loops have written

	prefix  string // prefix of the imported names
	pending []*tfproto.NodeDef
	active  map[string]bool // whether each visited node depends on trained inputs
}

func newImporter(s *graph.Scope, l *library) *importer {
	return &importer{
		scope: s, lib: l, refs: map[ref]tfbridge.Output{}, train: map[ref]bool{}, loops: map[string]*recorded{}, elements: map[ref]graph.Spec{},
		prefix: s.SubScope("body").Prefix(), active: map[string]bool{},
	}
}

// bind replaces a ref by an output. train is true if the output depends on trained
// inputs.
func (im *importer) bind(r ref, o tfbridge.Output, train bool) {
	im.refs[r] = o
	if train {
		im.train[r] = true
	}
}

// run imports the nodes that outputs need and returns these outputs.
func (im *importer) run(nodes []*tfproto.NodeDef, outputs []string) ([]tfbridge.Output, error) {
	ordered, err := sorted(nodes, outputs, im.refs)
	if err != nil {
		return nil, err
	}
	for _, n := range ordered {
		_, assigned := previous(n)
		im.active[n.Name] = assigned || !constant[n.Op] && slices.ContainsFunc(n.Input, im.depends)
		if (n.Op != "While" && n.Op != "StatelessWhile") || !im.active[n.Name] {
			im.pending = append(im.pending, im.knowElements(n))
			continue
		}
		if err := im.flush(); err != nil {
			return nil, err
		}
		if err := im.loop(n); err != nil {
			return nil, err
		}
	}
	if err := im.flush(); err != nil {
		return nil, err
	}
	results := make([]tfbridge.Output, len(outputs))
	for i, s := range outputs {
		if results[i], err = im.output(parseRef(s)); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// depends reports whether an input depends on trained inputs.
func (im *importer) depends(s string) bool {
	r := parseRef(s)
	if _, bound := im.refs[r]; bound {
		return im.train[r]
	}
	return r.index >= 0 && im.active[r.node]
}

// loop adds a loop that keeps the values that its derivative needs.
func (im *importer) loop(n *tfproto.NodeDef) error {
	var inputs []tfbridge.Output
	var active []bool
	for _, s := range n.Input {
		r := parseRef(s)
		if r.index < 0 {
			continue
		}
		o, err := im.output(r)
		if err != nil {
			return err
		}
		inputs, active = append(inputs, o), append(active, im.depends(s))
	}
	rec, err := record(im.scope, im.lib, n, inputs, active)
	if err != nil {
		return err
	}
	for i, o := range rec.outputs[:rec.n] {
		im.bind(ref{n.Name, i}, o, rec.active[i])
		if element, ok := rec.written[i]; ok {
			im.elements[ref{n.Name, i}] = element
		}
	}
	im.loops[rec.name] = rec
	return nil
}

// output returns the replacement of a ref.
func (im *importer) output(r ref) (tfbridge.Output, error) {
	if o, ok := im.refs[r]; ok {
		return o, nil
	}
	op := im.scope.Graph().Operation(im.prefix + r.node)
	if op == nil || r.index < 0 || r.index >= op.NumOutputs() {
		return tfbridge.Output{}, millrace.Errorf(millrace.ErrModel, "the graph has no tensor %s", millrace.Quote(r.String()))
	}
	return op.Output(r.index), nil
}

// flush imports the pending nodes.
func (im *importer) flush() error {
	if len(im.pending) == 0 {
		return nil
	}
	nodes := im.pending
	im.pending = nil
	here := map[string]bool{}
	for _, n := range nodes {
		here[n.Name] = true
	}
	part := &tfproto.GraphDef{Versions: &tfproto.VersionDef{Producer: producer}}
	opts := tfbridge.GraphImportOptions{Prefix: im.prefix[:len(im.prefix)-1]}
	mapped := map[ref]bool{}
	for _, n := range nodes {
		c := proto.Clone(n).(*tfproto.NodeDef)
		delete(c.Attr, "_class")
		c.Input = c.Input[:0]
		for _, s := range n.Input {
			keep, err := im.connect(parseRef(s), here, &opts, mapped)
			if err != nil {
				return err
			}
			if keep {
				c.Input = append(c.Input, s)
			}
		}
		part.Node = append(part.Node, c)
	}
	data, err := proto.Marshal(part)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "import the body of a function: %w", err)
	}
	return im.scope.Graph().ImportWithOptions(data, opts)
}

// producer is the version of the GraphDefs made here: TensorFlow 2's.
const producer = 1395

// connect maps an input of an imported node, unless it is imported too. keep is false
// for a control dependency that has become void.
func (im *importer) connect(r ref, here map[string]bool, opts *tfbridge.GraphImportOptions, mapped map[ref]bool) (keep bool, err error) {
	if _, bound := im.refs[r]; !bound && here[r.node] {
		return true, nil
	}
	if mapped[r] {
		return true, nil
	}
	if r.index < 0 {
		op := im.scope.Graph().Operation(im.prefix + r.node)
		if o, bound := im.refs[ref{r.node, 0}]; bound {
			op = o.Op
		}
		if op == nil {
			return false, nil
		}
		opts.AddControlMapping(r.node, op)
		mapped[r] = true
		return true, nil
	}
	o, err := im.output(r)
	if err != nil {
		return false, err
	}
	opts.AddInputMapping(r.node, r.index, o)
	mapped[r] = true
	return true, nil
}

// sorted returns the nodes that outputs need, inputs first. Bound refs need no nodes.
func sorted(nodes []*tfproto.NodeDef, outputs []string, bound map[ref]tfbridge.Output) ([]*tfproto.NodeDef, error) {
	byName := map[string]*tfproto.NodeDef{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	const open, done = 1, 2
	state := map[string]int{}
	var ordered []*tfproto.NodeDef
	type frame struct {
		node *tfproto.NodeDef
		next int
	}
	var stack []*frame
	enter := func(s string) error {
		r := parseRef(s)
		if _, ok := bound[r]; ok || state[r.node] == done {
			return nil
		}
		n := byName[r.node]
		switch {
		case n == nil && r.index < 0:
			return nil
		case n == nil:
			return millrace.Errorf(millrace.ErrModel, "the graph has no node %s", millrace.Quote(r.node))
		case state[r.node] == open:
			return millrace.Errorf(millrace.ErrModel, "the operation %s of type %s is part of a loop of TensorFlow 1, which has no derivative",
				millrace.Quote(n.Name), millrace.Quote(n.Op))
		}
		state[r.node] = open
		stack = append(stack, &frame{node: n})
		return nil
	}
	for _, s := range outputs {
		if err := enter(s); err != nil {
			return nil, err
		}
		for len(stack) > 0 {
			f := stack[len(stack)-1]
			if f.next < len(f.node.Input) {
				f.next++
				if err := enter(f.node.Input[f.next-1]); err != nil {
					return nil, err
				}
				continue
			}
			stack = stack[:len(stack)-1]
			state[f.node.Name] = done
			ordered = append(ordered, f.node)
		}
	}
	return ordered, nil
}
