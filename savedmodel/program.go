package savedmodel

import (
	"cmp"
	"slices"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
)

// Program contains everything that TensorFlow needs to load a checked model. This
// package serialized all of it from the checked graph: TensorFlow does not read the
// model's protobuf again. [Model.Stage] prepares the model's files.
type Program struct {
	GraphDef  []byte // a serialized GraphDef message
	MetaGraph []byte // a serialized MetaGraphDef message, the GraphDef included

	// RestoreOp restores the variables when Filename is fed the prefix of
	// their files; "" if there are none.
	RestoreOp, Filename string
	// InitOp runs after that; "" if there is none. Assets are fed to both.
	InitOp string
	Assets []Asset
}

// Asset is a file of the model and the tensor that is fed its path.
type Asset struct {
	Tensor string // "op:0"
	File   string // path in the model's folder
}

// Program returns everything that TensorFlow needs to load the model. The model owns
// it: do not change it.
func (m *Model) Program() *Program { return m.program }

// programOf returns the program of a checked graph; graph is its MetaGraphDef. Without
// an index of variables the program restores nothing.
func programOf(m *metagraph.Graph, graph []byte, hasIndex bool) *Program {
	p := &Program{GraphDef: m.GraphDef, MetaGraph: graph, InitOp: metagraph.ParseRef(m.InitOp).Node}
	if m.RestoreOp != "" && hasIndex {
		p.RestoreOp, p.Filename = metagraph.ParseRef(m.RestoreOp).Node, metagraph.ParseRef(m.FilenameTensor).String()
	}
	for _, a := range m.Assets {
		p.Assets = append(p.Assets, Asset{Tensor: metagraph.ParseRef(a.Tensor).String(), File: assetsName + "/" + a.Filename})
	}
	slices.SortFunc(p.Assets, func(a, b Asset) int {
		return cmp.Or(cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.File, b.File))
	})
	return p
}

// Operations counts the nodes of the model's meta graph by the operations that
// they run, in the main graph and in all functions. Calls of the model's own
// functions are not counted.
func (m *Model) Operations() (counts map[string]int, functions int) {
	counts, own := map[string]int{}, map[string]bool{}
	m.eachFunction(func(fn []byte) { own[functionNameOf(fn)] = true })
	count := func(node []byte) {
		if op, _ := message.Find(node, message.NodeOp); !own[string(op.Bytes)] {
			counts[string(op.Bytes)]++
		}
	}
	for f := range wire.Fields(m.program.GraphDef) {
		if f.Num == metagraph.GraphNode {
			count(f.Bytes)
		}
	}
	m.eachFunction(func(fn []byte) {
		for f := range wire.Fields(fn) {
			if f.Num == metagraph.FunctionNode {
				count(f.Bytes)
			}
		}
	})
	return counts, len(own)
}

// eachFunction calls visit with every FunctionDef of the meta graph.
func (m *Model) eachFunction(visit func(fn []byte)) {
	library, _ := message.Find(m.program.GraphDef, metagraph.GraphLibrary)
	for f := range wire.Fields(library.Bytes) {
		if f.Num == metagraph.LibraryFunction {
			visit(f.Bytes)
		}
	}
}

// functionNameOf reads only the name of a FunctionDef.
func functionNameOf(fn []byte) string {
	signature, _ := message.Find(fn, metagraph.FunctionSignature)
	name, _ := message.Find(signature.Bytes, metagraph.SignatureName)
	return string(name.Bytes)
}
