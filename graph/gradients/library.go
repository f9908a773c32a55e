package gradients

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// library holds the functions of a graph, and the definitions of operations.
type library struct {
	graph     *tfbridge.Graph
	functions map[string]*tfproto.FunctionDef
	defs      map[string]*tfproto.OpDef
}

// newLibrary reads the functions of a graph.
func newLibrary(g *tfbridge.Graph) (*library, error) {
	functions, err := g.Functions()
	if err != nil {
		return nil, err
	}
	l := &library{graph: g, functions: map[string]*tfproto.FunctionDef{}, defs: map[string]*tfproto.OpDef{}}
	for _, f := range functions {
		data, defErr := f.Def()
		def := &tfproto.FunctionDef{}
		if defErr == nil {
			defErr = proto.Unmarshal(data, def)
		}
		if defErr != nil && err == nil {
			err = defErr
		}
		l.functions[f.Name()] = def
		f.Close()
	}
	return l, err
}

// def returns the definition of an operation type or function.
func (l *library) def(opType string) (*tfproto.OpDef, error) {
	if f := l.functions[opType]; f != nil {
		return f.GetSignature(), nil
	}
	if def := l.defs[opType]; def != nil {
		return def, nil
	}
	data, err := l.graph.OpDef(opType)
	if err != nil {
		return nil, err
	}
	def := &tfproto.OpDef{}
	if err := proto.Unmarshal(data, def); err != nil {
		return nil, err
	}
	l.defs[opType] = def
	return def, nil
}

// outputIndex returns the number of an output that a function's body calls
// "name:index", among all outputs of a node.
func (l *library) outputIndex(n *tfproto.NodeDef, name string, index int) (int, error) {
	def, err := l.def(n.Op)
	if err != nil {
		return 0, err
	}
	first := 0
	for _, out := range def.GetOutputArg() {
		if out.GetName() == name {
			return first + index, nil
		}
		first += count(out, n)
	}
	return 0, millrace.Errorf(millrace.ErrModel, "operation %s of type %s has no output %s", millrace.Quote(n.Name), millrace.Quote(n.Op), millrace.Quote(name))
}

// count returns how many tensors an output of a node consists of.
func count(out *tfproto.OpDef_ArgDef, n *tfproto.NodeDef) int {
	switch {
	case out.GetNumberAttr() != "":
		return int(n.Attr[out.GetNumberAttr()].GetI())
	case out.GetTypeListAttr() != "":
		return len(n.Attr[out.GetTypeListAttr()].GetList().GetType())
	}
	return 1
}

// callee returns the function that a node calls, nil if it calls none.
func (l *library) callee(n *tfproto.NodeDef) *tfproto.FunctionDef {
	if n.Op == "PartitionedCall" || n.Op == "StatefulPartitionedCall" {
		return l.functions[n.Attr["f"].GetFunc().GetName()]
	}
	return l.functions[n.Op]
}

// missing returns the functions that nodes call but the graph does not contain.
func (l *library) missing(nodes []*tfproto.NodeDef) ([]*tfbridge.Function, error) {
	have := map[string]bool{}
	functions, err := l.graph.Functions()
	for _, f := range functions {
		have[f.Name()] = true
		f.Close()
	}
	var made []*tfbridge.Function
	var add func(nodes []*tfproto.NodeDef)
	add = func(nodes []*tfproto.NodeDef) {
		for _, n := range nodes {
			for _, name := range append(called(n), n.Op) {
				def := l.functions[name]
				if def == nil || have[name] || err != nil {
					continue
				}
				have[name] = true
				var data []byte
				var f *tfbridge.Function
				if data, err = proto.Marshal(def); err == nil {
					f, err = tfbridge.ImportFunction(data)
				}
				if err == nil {
					made = append(made, f)
					add(def.GetNodeDef())
				}
			}
		}
	}
	add(nodes)
	return made, err
}

// called returns the functions that a node's attributes name.
func called(n *tfproto.NodeDef) []string {
	var names []string
	for _, a := range n.Attr {
		if f := a.GetFunc(); f != nil {
			names = append(names, f.GetName())
		}
		for _, f := range a.GetList().GetFunc() {
			names = append(names, f.GetName())
		}
	}
	return names
}

// hasState reports whether nodes contain an operation whose results may differ when it
// runs a second time.
func (l *library) hasState(nodes []*tfproto.NodeDef) bool {
	return slices.ContainsFunc(nodes, func(n *tfproto.NodeDef) bool {
		switch n.Op {
		case "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Assert", "While", "If", "Case", "StatefulPartitionedCall":
			return false
		}
		def, err := l.def(n.Op)
		return err != nil || def.GetIsStateful()
	})
}

// ref is an input of a node: an output of another node, or a control dependency,
// whose index is -1.
type ref struct {
	node  string
	index int
}

func parseRef(s string) ref {
	if node, ok := strings.CutPrefix(s, "^"); ok {
		return ref{node, -1}
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if n, err := strconv.Atoi(s[i+1:]); err == nil {
			return ref{s[:i], n}
		}
	}
	return ref{s, 0}
}

func (r ref) String() string {
	switch {
	case r.index < 0:
		return "^" + r.node
	case r.index == 0:
		return r.node
	}
	return r.node + ":" + strconv.Itoa(r.index)
}

// origin follows a value back through operations that only pass it on.
func origin(o tfbridge.Output) tfbridge.Output {
	for o.Op.Type() == "Identity" || o.Op.Type() == tfbridge.OpCheckArguments || o.Op.Type() == tfbridge.OpHideShape {
		o = o.Op.Inputs()[0]
	}
	return o
}

// graphDef returns the nodes of a scope's graph by their names.
func graphDef(s *graph.Scope) (map[string]*tfproto.NodeDef, []string, error) {
	var b bytes.Buffer
	if _, err := s.Graph().WriteTo(&b); err != nil {
		return nil, nil, err
	}
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(b.Bytes(), def); err != nil {
		return nil, nil, millrace.Errorf(millrace.ErrInternal, "read a graph: %w", err)
	}
	nodes := map[string]*tfproto.NodeDef{}
	var order []string
	for _, n := range def.GetNode() {
		nodes[n.Name] = n
		order = append(order, n.Name)
	}
	return maps.Clone(nodes), order, nil
}
