package fuse

import (
	"slices"
	"strings"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"

	"google.golang.org/protobuf/proto"
)

// Does a step change variables? If it does not, it may run at the same time as
// other steps and ahead of the loop. TensorFlow's registry of operations gives
// the answer: it marks each operation that has state, and each input through
// which an operation changes a variable of TensorFlow 1. A few operations with
// state only read it; they are listed here. All other operations with state
// count as changing it. So an operation that we do not know costs speed, but
// not correctness.

// readers are the operations that TensorFlow's registry marks as stateful, but
// that change nothing that another step could see. Calls of functions are among
// them, because the functions are examined themselves.
var readers = map[string]bool{
	"VarHandleOp": true, "ReadVariableOp": true, "ResourceGather": true, "ResourceGatherNd": true,
	"VariableShape": true, "VarIsInitializedOp": true,
	"Variable": true, "VariableV2": true, "IsVariableInitialized": true,
	"HashTable": true, "HashTableV2": true, "MutableHashTableV2": true, "MutableDenseHashTableV2": true,
	"LookupTableFind": true, "LookupTableFindV2": true, "LookupTableSize": true, "LookupTableSizeV2": true,
	"StatefulPartitionedCall": true, "If": true, "Case": true, "While": true,
	"Assert": true, "Print": true, "PrintV2": true,
	"RandomUniform": true, "RandomUniformInt": true, "RandomStandardNormal": true, "TruncatedNormal": true,
	"RandomShuffle": true, "Multinomial": true, "RandomGamma": true, "RandomPoissonV2": true,
}

// Changing returns the nodes that may change variables, tables or other state
// of a graph when the outputs are computed.
func Changing(g *tfbridge.Graph, def *tfproto.GraphDef, outputs []TensorName) []string {
	w := &stateWalk{graph: g, nodes: map[string]*tfproto.NodeDef{}, functions: map[string]*tfproto.FunctionDef{}, effects: map[string]bool{}, types: map[string]bool{}}
	for _, n := range def.GetNode() {
		w.nodes[n.GetName()] = n
	}
	for _, f := range def.GetLibrary().GetFunction() {
		w.functions[f.GetSignature().GetName()] = f
	}
	queue := make([]string, 0, len(outputs))
	for _, out := range outputs {
		queue = append(queue, out.Node)
	}
	visited := map[string]bool{}
	var changing []string
	for len(queue) > 0 {
		n := w.nodes[queue[0]]
		queue = queue[1:]
		if n == nil || visited[n.GetName()] {
			continue
		}
		visited[n.GetName()] = true
		if w.changes(n) {
			changing = append(changing, n.GetName())
		}
		for _, in := range n.GetInput() {
			queue = append(queue, ParseTensorName(in).Node)
		}
	}
	return changing
}

// stateWalk looks for operations that change state.
type stateWalk struct {
	graph     *tfbridge.Graph
	nodes     map[string]*tfproto.NodeDef
	functions map[string]*tfproto.FunctionDef
	effects   map[string]bool // whether a function changes state, for the functions examined so far
	types     map[string]bool // whether an operation type changes state
}

// changes reports whether a node changes state, itself or in a function that it
// calls.
func (w *stateWalk) changes(n *tfproto.NodeDef) bool {
	if w.typeChanges(n.GetOp()) || w.functionChanges(n.GetOp()) {
		return true
	}
	for _, attr := range n.GetAttr() {
		called := attr.GetList().GetFunc()
		if f := attr.GetFunc(); f != nil {
			called = append([]*tfproto.NameAttrList{f}, called...)
		}
		for _, f := range called {
			if w.functionChanges(f.GetName()) {
				return true
			}
		}
	}
	return false
}

// functionChanges reports whether a function changes state. A function runs all
// its operations that have state. A name that is not a function's changes
// nothing.
func (w *stateWalk) functionChanges(name string) bool {
	f := w.functions[name]
	if f == nil {
		return false
	}
	if changes, known := w.effects[name]; known {
		return changes
	}
	w.effects[name] = false // assume no effect during recursion: the rest of the body decides
	w.effects[name] = slices.ContainsFunc(f.GetNodeDef(), w.changes)
	return w.effects[name]
}

// typeChanges reports whether operations of a type change state.
func (w *stateWalk) typeChanges(op string) bool {
	if w.functions[op] != nil || readers[op] {
		return false
	}
	changes, known := w.types[op]
	if !known {
		changes = hasEffect(w.graph, op)
		w.types[op] = changes
	}
	return changes
}

// hasEffect reports whether TensorFlow's registry says that an operation type
// may change state.
func hasEffect(g *tfbridge.Graph, op string) bool {
	data, err := g.OpDef(op)
	if err != nil {
		return true
	}
	var def tfproto.OpDef
	if proto.Unmarshal(data, &def) != nil || def.GetIsStateful() {
		return true
	}
	for _, in := range def.GetInputArg() {
		if in.GetIsRef() && !strings.HasPrefix(op, "Ref") { // RefIdentity and similar operations only pass a variable on
			return true
		}
	}
	return false
}
