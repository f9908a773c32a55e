package metagraph

import (
	"maps"
	"slices"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// Field numbers of SavedModel, MetaGraphDef and the messages in them.
const (
	SavedModelMetaGraph = 2

	MetaInfo, MetaGraphDef, metaSaver, metaCollection, metaSignature, metaAsset, metaObjects = 1, 2, 3, 4, 5, 6, 7

	InfoTag, infoVersion = 4, 5

	GraphNode, GraphLibrary, GraphVersions = 1, 2, 4

	VersionProducer, versionMinConsumer = 1, 2

	LibraryFunction, libraryGradient = 1, 2

	saverFilename, saverRestore = 1, 3

	collectionNodes = 1

	assetTensor, assetFilename = 1, 2
)

// Names with a meaning to TensorFlow's loader.
const (
	InitSignature   = "__saved_model_init_op"
	trainSignature  = "__saved_model_train_op"
	mainCollection  = "saved_model_main_op"
	legacyInitGroup = "legacy_init_op"
)

// Graph is a MetaGraphDef, parsed as far as the checks need it.
type Graph struct {
	Version     string // version of the TensorFlow that wrote it
	Producer    int64  // version of its graphs
	MinConsumer int64

	GraphDef      []byte // the GraphDef that TensorFlow loads
	Nodes         map[string][]byte
	Functions     map[string]*Function
	Gradients     map[string]string // function to the function that is its gradient
	SignatureDefs map[string][]byte
	groups        map[string][]string // names of the nodes in each collection
	Assets        []Asset
	Objects       []byte // the graph of Python's objects

	FilenameTensor, RestoreOp string
	InitOp                    string // operation to run after restoring, "" if there is none

	uses  *uses               // uses of variables, computed on demand
	swaps map[string][]string // see peers
}

// Parser parses the graphs of a model.
type Parser struct {
	*Report
	MaxNodes int // limit of the nodes in a graph or function, and of the functions
}

// Parse parses a MetaGraphDef.
func (p *Parser) Parse(b []byte) (*Graph, error) {
	m := New()
	var legacy []Asset
	for f := range wire.Fields(b) {
		switch f.Num {
		case MetaInfo:
			if v, ok := message.Find(f.Bytes, infoVersion); ok {
				m.Version = string(v.Bytes)
			}
		case MetaGraphDef:
			if err := p.ParseGraphDef(m, f.Bytes); err != nil {
				return nil, err
			}
		case metaSaver:
			m.parseSaver(f.Bytes)
		case metaCollection:
			name, value := message.MapEntry(f.Bytes)
			m.groups[name] = collectionStrings(value)
			if name == assetsCollection {
				var err error
				if legacy, err = p.collectionAssets(value); err != nil {
					return nil, err
				}
			}
		case metaSignature:
			name, value := message.MapEntry(f.Bytes)
			m.SignatureDefs[name] = value
		case metaAsset:
			m.Assets = append(m.Assets, parseAsset(f.Bytes))
		case metaObjects:
			m.Objects = f.Bytes
		}
	}
	if len(m.Assets) == 0 {
		m.Assets = legacy
	}
	return m, nil
}

// New returns an empty Graph.
func New() *Graph {
	return &Graph{
		Nodes: map[string][]byte{}, Functions: map[string]*Function{}, Gradients: map[string]string{},
		SignatureDefs: map[string][]byte{}, groups: map[string][]string{},
	}
}

// Peers returns the functions by the interface they implement. TensorFlow may replace
// one by another.
func (m *Graph) Peers() map[string][]string {
	if m.swaps != nil {
		return m.swaps
	}
	m.swaps = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.Functions)) {
		if i := m.Functions[name].Implements; i != "" {
			m.swaps[i] = append(m.swaps[i], name)
		}
	}
	return m.swaps
}

// ParseGraphDef reads a GraphDef.
func (p *Parser) ParseGraphDef(m *Graph, b []byte) error {
	m.GraphDef = b
	for f := range wire.Fields(b) {
		switch f.Num {
		case GraphNode:
			name := NameOf(f.Bytes)
			if name == "" {
				return p.Fail("a node has no name")
			}
			if _, ok := m.Nodes[name]; ok {
				return p.Fail("node %s is there twice", modelfile.Quote(name))
			}
			if len(m.Nodes) >= p.MaxNodes {
				return p.Limit("the graph has more than %d nodes", p.MaxNodes)
			}
			m.Nodes[name] = f.Bytes
		case GraphLibrary:
			if err := p.parseLibrary(m, f.Bytes); err != nil {
				return err
			}
		case GraphVersions:
			m.ParseVersions(f.Bytes)
		}
	}
	return nil
}

// parseLibrary reads a FunctionDefLibrary.
func (p *Parser) parseLibrary(m *Graph, b []byte) error {
	for f := range wire.Fields(b) {
		switch f.Num {
		case LibraryFunction:
			if len(m.Functions) >= p.MaxNodes {
				return p.Limit("the graph has more than %d functions", p.MaxNodes)
			}
			fn := parseFunction(f.Bytes)
			if fn.Name == "" {
				return p.Fail("a function has no name")
			}
			if m.Functions[fn.Name] != nil {
				return p.Fail("function %s is there twice", modelfile.Quote(fn.Name))
			}
			if len(fn.Nodes) > p.MaxNodes {
				return p.Limit("function %s has more than %d nodes", modelfile.Quote(fn.Name), p.MaxNodes)
			}
			m.Functions[fn.Name] = fn
		case libraryGradient:
			var of, is string
			for e := range wire.Fields(f.Bytes) {
				switch e.Num {
				case 1:
					of = string(e.Bytes)
				case 2:
					is = string(e.Bytes)
				}
			}
			m.Gradients[of] = is
		}
	}
	return nil
}

// ParseVersions reads a VersionDef.
func (m *Graph) ParseVersions(b []byte) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case VersionProducer:
			m.Producer = int64(int32(f.Number))
		case versionMinConsumer:
			m.MinConsumer = int64(int32(f.Number))
		}
	}
}

// parseSaver reads a SaverDef.
func (m *Graph) parseSaver(b []byte) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case saverFilename:
			m.FilenameTensor = string(f.Bytes)
		case saverRestore:
			m.RestoreOp = string(f.Bytes)
		}
	}
}

// collectionStrings returns the names in a CollectionDef of nodes.
func collectionStrings(b []byte) []string {
	nodes, _ := message.Find(b, collectionNodes)
	var names []string
	for f := range wire.Fields(nodes.Bytes) {
		if f.Num == 1 {
			names = append(names, string(f.Bytes))
		}
	}
	return names
}

// FindInitOp returns the operation that TensorFlow runs after restoring, "" if there is
// none. It uses the same places as TensorFlow's loader, in the same order.
func (m *Graph) FindInitOp(r *Report) (string, error) {
	if b, ok := m.SignatureDefs[InitSignature]; ok {
		s, err := sigdef.Parse(InitSignature, b)
		if err != nil {
			return "", r.Fail("%v", err)
		}
		for _, t := range s.Outputs {
			if t.Name == InitSignature && t.Node != "" {
				return t.Node, nil
			}
		}
		return "", r.Fail("signature %s does not name the operation to run at load", InitSignature)
	}
	for _, key := range []string{mainCollection, legacyInitGroup} {
		names, ok := m.groups[key]
		if !ok {
			continue
		}
		if len(names) != 1 {
			return "", r.Fail("collection %s has %d operations, not the one to run at load", key, len(names))
		}
		return names[0], nil
	}
	return "", nil
}

// Node returns a node of the main graph.
func (m *Graph) Node(name string) (Node, bool) {
	b, ok := m.Nodes[name]
	if !ok {
		return Node{}, false
	}
	return ParseNode(b), true
}

// outputTypes returns the types of a node's outputs. It reports false if their number
// is unknown.
func (m *Graph) outputTypes(n Node) ([]int32, bool) {
	if fn := m.Functions[n.Op]; fn != nil {
		return fn.outputTypes()
	}
	return outputTypes(n)
}

// IsAsset reports whether a tensor is fed the path of an asset at load.
func (m *Graph) IsAsset(tensor string) bool {
	return slices.ContainsFunc(m.Assets, func(a Asset) bool { return ParseRef(a.Tensor).String() == tensor })
}
