package savedmodel

import (
	"maps"
	"millrace/savedmodel/sigdef"
	"slices"
)

// Field numbers of SavedModel, MetaGraphDef and what is in them.
const (
	savedModelMetaGraph = 2

	metaInfo, metaGraphDef, metaSaver, metaCollection, metaSignature, metaAsset, metaObjects = 1, 2, 3, 4, 5, 6, 7

	infoTag, infoVersion = 4, 5

	graphNode, graphLibrary, graphVersions = 1, 2, 4

	versionProducer, versionMinConsumer = 1, 2

	libraryFunction, libraryGradient = 1, 2

	saverFilename, saverRestore = 1, 3

	collectionNodes = 1

	assetTensor, assetFilename = 1, 2
)

// Names with a meaning to TensorFlow's loader.
const (
	initSignature   = "__saved_model_init_op"
	trainSignature  = "__saved_model_train_op"
	mainCollection  = "saved_model_main_op"
	legacyInitGroup = "legacy_init_op"
)

// metaGraph is a MetaGraphDef, taken apart as far as the checks need it.
type metaGraph struct {
	version     string // of the TensorFlow that wrote it
	producer    int64  // version of its graphs
	minConsumer int64

	graphDef   []byte // what TensorFlow loads
	nodes      map[string][]byte
	functions  map[string]*function
	gradients  map[string]string // function to the function that is its gradient
	signatures map[string][]byte
	groups     map[string][]string // collections of nodes
	assets     []assetDef
	objects    []byte // the graph of Python's objects

	filenameTensor, restoreOp string
	initOp                    string // that runs after restoring, "" if there is none

	uses  *uses               // of variables, made on demand
	swaps map[string][]string // see peers
}

// parser takes the graphs of a model apart.
type parser struct {
	*report
	maxNodes int // of a graph or function, and functions
}

// parseGraph takes a MetaGraphDef apart.
func (p *parser) parseGraph(b []byte) (*metaGraph, error) {
	m := newMetaGraph()
	var legacy []assetDef
	for f := range fieldsOf(b) {
		switch f.num {
		case metaInfo:
			if v, ok := attrField(f.bytes, infoVersion); ok {
				m.version = string(v.bytes)
			}
		case metaGraphDef:
			if err := p.parseGraphDef(m, f.bytes); err != nil {
				return nil, err
			}
		case metaSaver:
			m.parseSaver(f.bytes)
		case metaCollection:
			name, value := mapEntry(f.bytes)
			m.groups[name] = collectionStrings(value)
			if name == assetsCollection {
				var err error
				if legacy, err = p.collectionAssets(value); err != nil {
					return nil, err
				}
			}
		case metaSignature:
			name, value := mapEntry(f.bytes)
			m.signatures[name] = value
		case metaAsset:
			m.assets = append(m.assets, parseAsset(f.bytes))
		case metaObjects:
			m.objects = f.bytes
		}
	}
	if len(m.assets) == 0 {
		m.assets = legacy
	}
	return m, nil
}

// newMetaGraph returns an empty metaGraph.
func newMetaGraph() *metaGraph {
	return &metaGraph{
		nodes: map[string][]byte{}, functions: map[string]*function{}, gradients: map[string]string{},
		signatures: map[string][]byte{}, groups: map[string][]string{},
	}
}

// peers returns the functions by the interface they implement. TensorFlow may
// put one in the place of another.
func (m *metaGraph) peers() map[string][]string {
	if m.swaps != nil {
		return m.swaps
	}
	m.swaps = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.functions)) {
		if i := m.functions[name].implements; i != "" {
			m.swaps[i] = append(m.swaps[i], name)
		}
	}
	return m.swaps
}

// parseGraphDef reads a GraphDef.
func (p *parser) parseGraphDef(m *metaGraph, b []byte) error {
	m.graphDef = b
	for f := range fieldsOf(b) {
		switch f.num {
		case graphNode:
			name := nameOf(f.bytes)
			if name == "" {
				return p.fail("a node has no name")
			}
			if _, ok := m.nodes[name]; ok {
				return p.fail("node %s is there twice", quote(name))
			}
			if len(m.nodes) >= p.maxNodes {
				return p.limit("the graph has more than %d nodes", p.maxNodes)
			}
			m.nodes[name] = f.bytes
		case graphLibrary:
			if err := p.parseLibrary(m, f.bytes); err != nil {
				return err
			}
		case graphVersions:
			m.parseVersions(f.bytes)
		}
	}
	return nil
}

// parseLibrary reads a FunctionDefLibrary.
func (p *parser) parseLibrary(m *metaGraph, b []byte) error {
	for f := range fieldsOf(b) {
		switch f.num {
		case libraryFunction:
			if len(m.functions) >= p.maxNodes {
				return p.limit("the graph has more than %d functions", p.maxNodes)
			}
			fn := parseFunction(f.bytes)
			if fn.name == "" {
				return p.fail("a function has no name")
			}
			if m.functions[fn.name] != nil {
				return p.fail("function %s is there twice", quote(fn.name))
			}
			if len(fn.nodes) > p.maxNodes {
				return p.limit("function %s has more than %d nodes", quote(fn.name), p.maxNodes)
			}
			m.functions[fn.name] = fn
		case libraryGradient:
			var of, is string
			for e := range fieldsOf(f.bytes) {
				switch e.num {
				case 1:
					of = string(e.bytes)
				case 2:
					is = string(e.bytes)
				}
			}
			m.gradients[of] = is
		}
	}
	return nil
}

// parseVersions reads a VersionDef.
func (m *metaGraph) parseVersions(b []byte) {
	for f := range fieldsOf(b) {
		switch f.num {
		case versionProducer:
			m.producer = int64(int32(f.number))
		case versionMinConsumer:
			m.minConsumer = int64(int32(f.number))
		}
	}
}

// parseSaver reads a SaverDef.
func (m *metaGraph) parseSaver(b []byte) {
	for f := range fieldsOf(b) {
		switch f.num {
		case saverFilename:
			m.filenameTensor = string(f.bytes)
		case saverRestore:
			m.restoreOp = string(f.bytes)
		}
	}
}

// collectionStrings returns the names in a CollectionDef of nodes.
func collectionStrings(b []byte) []string {
	nodes, _ := attrField(b, collectionNodes)
	var names []string
	for f := range fieldsOf(nodes.bytes) {
		if f.num == 1 {
			names = append(names, string(f.bytes))
		}
	}
	return names
}

// findInitOp returns the operation that TensorFlow runs after restoring, "" if
// there is none. It looks where TensorFlow's loader looks, in the same order.
func (m *metaGraph) findInitOp(r *report) (string, error) {
	if b, ok := m.signatures[initSignature]; ok {
		s, err := sigdef.Parse(initSignature, b)
		if err != nil {
			return "", r.fail("%v", err)
		}
		for _, t := range s.Outputs {
			if t.Name == initSignature && t.Node != "" {
				return t.Node, nil
			}
		}
		return "", r.fail("signature %s does not name the operation to run at load", initSignature)
	}
	for _, key := range []string{mainCollection, legacyInitGroup} {
		names, ok := m.groups[key]
		if !ok {
			continue
		}
		if len(names) != 1 {
			return "", r.fail("collection %s has %d operations, not the one to run at load", key, len(names))
		}
		return names[0], nil
	}
	return "", nil
}

// node returns a node of the main graph.
func (m *metaGraph) node(name string) (nodeDef, bool) {
	b, ok := m.nodes[name]
	if !ok {
		return nodeDef{}, false
	}
	return parseNode(b), true
}

// outputTypes returns the types of a node's outputs. It reports false if not even
// their number is known.
func (m *metaGraph) outputTypes(n nodeDef) ([]int32, bool) {
	if fn := m.functions[n.op]; fn != nil {
		return fn.outputTypes()
	}
	return outputTypes(n)
}

// isAsset reports whether a tensor is fed the path of an asset at load.
func (m *metaGraph) isAsset(tensor string) bool {
	return slices.ContainsFunc(m.assets, func(a assetDef) bool { return parseRef(a.tensor).String() == tensor })
}
