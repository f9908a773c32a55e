package gradients

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// OpenOptions selects what to open.
type OpenOptions struct {
	// Feeds replace tensors of the graph, named "node:0" or "node": the inputs of a
	// signature.
	Feeds map[string]tfbridge.Output
	// Outputs are the tensors to compute, named in the same way.
	Outputs []string
	// Random makes random operations repeatable; nil: they keep TensorFlow's own state.
	Random *Random
}

// Change is the value that a variable has after the outputs were computed.
type Change struct {
	Variable Variable
	Value    tfbridge.Output

	// Assigned are all values that the graph assigns to the variable, the last one first. It
	// is nil if the graph assigns some in a condition or a loop: then the derivative with
	// respect to the variable is not known, because reads may come after them.
	Assigned []tfbridge.Output
}

// Opened is a part of a graph that was opened: it computes the same, and can be
// differentiated.
type Opened struct {
	Outputs   []tfbridge.Output // outputs in the order of the options
	Variables []Variable        // the variables that outputs and changes depend on, in the order of the graph
	Changes   []Change          // the variables that the graph changes; the caller assigns them, see Assign

	// Random reports whether random numbers depend on OpenOptions.Random. Unrepeatable
	// names the random operations that keep their own state in TensorFlow, which
	// checkpoints do not contain.
	Random       bool
	Unrepeatable []string

	scope   *graph.Scope
	lib     *library
	loops   map[string]*recorded
	gathers []*tfbridge.Operation // operations that gather rows of variables
}

// Open adds to a scope the operations that compute outputs of the scope's graph from
// feeds, in a form that can be differentiated. It copies the bodies of functions into
// the graph, passes variables by their values, and gives loops a form that keeps the
// values that their derivatives need. Variables, tables and constants are shared with
// the original.
//
// The opened operations change no variable. Where the graph assigns a variable, as a
// batch normalization in training mode does, they compute its new value, see
// [Opened.Assign]. No derivative flows through the assignment; reads after it are reads of the
// variable, as in TensorFlow.
//
// An operation that changes a variable in another way, or a loop of TensorFlow 1, is a
// failure that names it. A failure is the scope's; then Outputs are zero Outputs and
// Variables nil. Other side effects of the functions, such as assertions, are omitted.
func Open(s *graph.Scope, o *OpenOptions) *Opened {
	if s.Err() != nil {
		return unopened(s, o)
	}
	if o == nil {
		o = &OpenOptions{}
	}
	opened, err := open(s, o)
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		s.UpdateErr("a signature to be trained", err)
		return unopened(s, o)
	}
	return opened
}

// unopened is the result of Open after a failure.
func unopened(s *graph.Scope, o *OpenOptions) *Opened {
	if o == nil {
		o = &OpenOptions{}
	}
	return &Opened{scope: s, Outputs: unbuilt.Outputs(len(o.Outputs))}
}

func open(s *graph.Scope, o *OpenOptions) (*Opened, error) {
	var b bytes.Buffer
	if _, err := s.Graph().WriteTo(&b); err != nil {
		return nil, err
	}
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(b.Bytes(), def); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the model's graph: %w", err)
	}
	def, changed, err := graph.ByValue(def, o.Outputs...)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(changed))
	wanted := slices.Clone(o.Outputs)
	for _, name := range names {
		wanted = append(wanted, changed[name])
	}
	lib := &library{graph: s.Graph(), functions: map[string]*tfproto.FunctionDef{}, defs: map[string]*tfproto.OpDef{}}
	for _, f := range def.GetLibrary().GetFunction() {
		lib.functions[f.GetSignature().GetName()] = f
	}
	nodes, outputs, err := lib.inline(def.GetNode(), wanted)
	if err != nil {
		return nil, err
	}
	if err := addMissing(s, lib, nodes); err != nil {
		return nil, err
	}
	byName := map[string]*tfproto.NodeDef{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	chains := make([][]ref, len(names))
	for i, name := range names {
		chains[i], _ = assignedTo(byName, name, outputs[len(o.Outputs)+i])
	}
	im := newImporter(s, lib)
	random := newRandom(im, o.Random)
	nodes = random.rewrite(nodes)
	for name, feed := range o.Feeds {
		im.bind(parseRef(strings.TrimPrefix(name, "^")), feed, false)
	}
	opened := &Opened{scope: s, lib: lib, loops: im.loops, Random: random.rewritten, Unrepeatable: random.left}
	if err := opened.variables(im, nodes); err != nil {
		return nil, err
	}
	shareSources(im, nodes)
	gathers := gatherFromHandles(nodes, opened.handles())
	computed, err := im.run(nodes, outputs)
	if err != nil {
		return nil, err
	}
	opened.Outputs = computed[:len(o.Outputs)]
	if err := opened.changes(im, names, computed[len(o.Outputs):], chains); err != nil {
		return nil, err
	}
	for _, name := range gathers {
		if op := s.Graph().Operation(im.prefix + name); op != nil {
			opened.gathers = append(opened.gathers, op)
		}
	}
	return opened, err
}

// changes records the new values of variables, whose nodes have these names. chains are the refs
// of all values that are assigned to each, nil if some are not known.
func (o *Opened) changes(im *importer, names []string, values []tfbridge.Output, chains [][]ref) error {
	for i, name := range names {
		at := slices.IndexFunc(o.Variables, func(v Variable) bool { return v.Node == name })
		if at < 0 {
			continue
		}
		c := Change{Variable: o.Variables[at], Value: values[i]}
		for _, r := range chains[i] {
			assigned, err := im.output(r)
			if err != nil {
				return err
			}
			c.Assigned = append(c.Assigned, assigned)
		}
		o.Changes = append(o.Changes, c)
	}
	return nil
}

// Assign adds operations that give the variables that the graph changes their new
// values, after other operations: at least those that read the variables.
func (o *Opened) Assign(s *graph.Scope, after ...*tfbridge.Operation) []*tfbridge.Operation {
	var assigned []*tfbridge.Operation
	s = s.SubScope("changes").WithControlDependencies(after...)
	for _, c := range o.Changes {
		assigned = append(assigned, s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{c.Variable.Handle, c.Value}}))
	}
	return assigned
}

// handles returns the names of the handles' nodes by the names of the values' nodes,
// for trainable variables.
func (o *Opened) handles() map[string]string {
	names := map[string]string{}
	for _, v := range o.Variables {
		if v.Trainable() {
			names[v.Node] = v.Node + graph.HandleSuffix
		}
	}
	return names
}

// addMissing adds the functions that nodes call and that were made by passing variables
// by value.
func addMissing(s *graph.Scope, l *library, nodes []*tfproto.NodeDef) error {
	functions, err := l.missing(nodes)
	if err == nil {
		s.AddFunctions(functions...)
		err = s.Err()
	}
	for _, f := range functions {
		f.Close()
	}
	return err
}

// variables binds the variables that nodes read.
func (o *Opened) variables(im *importer, nodes []*tfproto.NodeDef) error {
	s := im.scope
	for _, n := range nodes {
		name, ok := strings.CutSuffix(n.Name, graph.HandleSuffix)
		if !ok || n.Op != "VarHandleOp" {
			continue
		}
		op := s.Graph().Operation(name)
		if op == nil {
			return millrace.Errorf(millrace.ErrModel, "the graph has no variable %s", millrace.Quote(name))
		}
		v := Variable{Name: string(n.Attr["shared_name"].GetS()), Node: name, Handle: op.Output(0)}
		if v.Name == "" {
			v.Name = name
		}
		v.DType = tfbridge.DataType(n.Attr["dtype"].GetType())
		v.Shape = shapeOf(n.Attr["shape"].GetShape())
		v.Value = s.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.Handle)
		if s.Err() != nil {
			return s.Err()
		}
		setShapes(s, []tfbridge.Output{v.Value}, []graph.Spec{{DType: v.DType, Shape: v.Shape}})
		im.bind(ref{name, 0}, v.Value, v.Trainable())
		im.bind(ref{n.Name, 0}, v.Handle, v.Trainable())
		o.Variables = append(o.Variables, v)
	}
	return nil
}

// shareSources binds nodes without inputs, such as tables and constants, to the
// model's own.
func shareSources(im *importer, nodes []*tfproto.NodeDef) {
	g := im.scope.Graph()
	for _, n := range nodes {
		op := g.Operation(n.Name)
		if len(n.Input) > 0 || op == nil || op.Type() != n.Op {
			continue
		}
		for i := range op.NumOutputs() {
			if _, bound := im.refs[ref{n.Name, i}]; !bound {
				im.bind(ref{n.Name, i}, op.Output(i), false)
			}
		}
	}
}

// Gradients is [Add] for outputs that depend on the opened ones, with respect to
// variables. For a variable that the graph assigns, the derivatives of all reads add up;
// [Change.Assigned] must have its values.
func (o *Opened) Gradients(y []tfbridge.Output, variables []Variable, dy []tfbridge.Output) []Gradient {
	if o.scope.Err() != nil {
		return make([]Gradient, len(variables))
	}
	w := newWalk(o.scope, o.loops)
	w.lib = o.lib
	var x []tfbridge.Output
	for _, v := range variables {
		x = append(append(x, v.Value), o.assigned(v)...)
		w.handles[tensorOf(v.Handle)] = true
	}
	w.pullAll(y, x, dy)
	all := make([]Gradient, len(variables))
	for i, v := range variables {
		all[i] = w.withAssigned(v, w.gradient(v), o.assigned(v))
	}
	return all
}

// Reads returns the operations that read the variables. An update of a variable has
// to wait for them.
func (o *Opened) Reads() []*tfbridge.Operation {
	ops := slices.Clone(o.gathers)
	for _, v := range o.Variables {
		if len(v.Value.Consumers()) > 0 {
			ops = append(ops, v.Value.Op)
		}
	}
	return ops
}
