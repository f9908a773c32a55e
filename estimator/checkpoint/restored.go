package checkpoint

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel"
)

// search returns what a model's restore operation restores, and the model's graph.
func search(p *savedmodel.Program) ([]restoredTensor, *body, error) {
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(p.GraphDef, def); err != nil {
		return nil, nil, millrace.Errorf(millrace.ErrInternal, "read the model's graph: %w", err)
	}
	s := &restoreSearch{functions: map[string]*tfproto.FunctionDef{}, visited: map[string]bool{}}
	for _, f := range def.GetLibrary().GetFunction() {
		s.functions[f.GetSignature().GetName()] = f
	}
	main := newBody(def.GetNode())
	s.visit(main, p.RestoreOp)
	return s.found, main, s.err
}

// unnamed refuses a variable or table whose name in checkpoints is unknown. Without
// that name a checkpoint would lack a part of the training's result.
func unnamed(node string) error {
	return millrace.Errorf(millrace.ErrModel, "variable or table %q: the model restores it under a name that is not a constant of its graph, so a checkpoint cannot hold it", node)
}

// restoredTensor is a tensor of a checkpoint, and the variable or table into which it
// is restored.
type restoredTensor struct {
	name  string
	dtype dtype.DataType
	node  string // the variable or table in the main graph
	half  Half
}

// body is the main graph or the body of a function.
type body struct {
	nodes  map[string]*tfproto.NodeDef
	inputs map[string]string // for a function: the tensor of the main graph for each argument
}

func newBody(nodes []*tfproto.NodeDef) *body {
	b := &body{nodes: make(map[string]*tfproto.NodeDef, len(nodes)), inputs: map[string]string{}}
	for _, n := range nodes {
		b.nodes[n.GetName()] = n
	}
	return b
}

// restoreSearch is one search for assignments.
type restoreSearch struct {
	functions map[string]*tfproto.FunctionDef
	visited   map[string]bool // nodes of the main graph
	found     []restoredTensor
	err       error
}

// visit examines a node of the main graph and the nodes for which it waits.
func (s *restoreSearch) visit(b *body, name string) {
	n := b.nodes[name]
	if n == nil || s.visited[name] || s.err != nil {
		return
	}
	s.visited[name] = true
	for _, in := range n.GetInput() {
		s.visit(b, nodeOf(in))
	}
	s.look(b, n)
}

// look adds a variable if the node assigns to one, and examines the function that the
// node calls.
func (s *restoreSearch) look(b *body, n *tfproto.NodeDef) {
	switch n.GetOp() {
	case "AssignVariableOp", "Assign":
		if len(n.GetInput()) >= 2 {
			s.restored(b, n, 1, NoTable)
		}
	case "LookupTableImportV2":
		if len(n.GetInput()) >= 3 {
			s.restored(b, n, 1, Keys)
			s.restored(b, n, 2, TableValues)
		}
	case "PartitionedCall", "StatefulPartitionedCall":
		s.call(b, n, n.GetAttr()["f"].GetFunc().GetName())
	default:
		s.call(b, n, n.GetOp())
	}
}

// call examines the nodes of a function.
func (s *restoreSearch) call(b *body, n *tfproto.NodeDef, name string) {
	f := s.functions[name]
	if f == nil {
		return
	}
	inner := newBody(f.GetNodeDef())
	for i, arg := range f.GetSignature().GetInputArg() {
		if i < len(n.GetInput()) {
			inner.inputs[arg.GetName()] = b.source(n.GetInput()[i])
		}
	}
	for _, node := range f.GetNodeDef() { // a function runs all its operations that have state
		s.look(inner, node)
	}
}

// restored adds what a node sets to a restored tensor, its given input.
func (s *restoreSearch) restored(b *body, n *tfproto.NodeDef, input int, half Half) {
	restore, index := b.restored(n.GetInput()[input])
	if restore == nil || len(restore.GetInput()) < 2 {
		return
	}
	r := restoredTensor{node: nodeOf(b.source(n.GetInput()[0])), half: half}
	names := b.strings(restore.GetInput()[1])
	if index >= len(names) {
		s.err = unnamed(r.node)
		return
	}
	r.name = names[index]
	if types := restore.GetAttr()["dtypes"].GetList().GetType(); index < len(types) {
		r.dtype = dtype.DataType(types[index])
	}
	s.found = append(s.found, r)
}

// source follows a tensor back through operations that pass it on unchanged, to a node
// of this body, or for an argument to the tensor of the main graph.
func (b *body) source(input string) string {
	for range maxChain {
		if outer, ok := b.inputs[nodeOf(input)]; ok {
			return outer
		}
		n := b.nodes[nodeOf(input)]
		if n == nil || n.GetOp() != "Identity" || len(n.GetInput()) == 0 {
			return input
		}
		input = n.GetInput()[0]
	}
	return input
}

// maxChain is the largest number of such operations in sequence.
const maxChain = 100

// restored returns the RestoreV2 that a tensor comes from, and the number of
// the tensor among its outputs; nil if it comes from elsewhere.
func (b *body) restored(input string) (*tfproto.NodeDef, int) {
	from := b.source(input)
	n := b.nodes[nodeOf(from)]
	if n == nil || n.GetOp() != "RestoreV2" {
		return nil, 0
	}
	index := 0
	if at := strings.LastIndexByte(from, ':'); at >= 0 {
		index, _ = strconv.Atoi(from[at+1:])
	}
	return n, index
}

// strings returns the value of a constant of strings.
func (b *body) strings(input string) []string {
	n := b.nodes[nodeOf(b.source(input))]
	if n == nil || n.GetOp() != "Const" {
		return nil
	}
	return constantStrings(n.GetAttr()["value"].GetTensor())
}

// nodeOf returns the node of an input: "a" of "a:1", "a:out:1" and "^a".
func nodeOf(input string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(input, "^"), ":")
	return name
}
