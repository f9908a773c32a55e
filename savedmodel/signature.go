package savedmodel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"millrace/dtype"
)

// Field numbers of SignatureDef, TensorInfo and TensorShapeProto.
const (
	sigInputs, sigOutputs, sigMethod = 1, 2, 3

	infoName, infoType, infoShape, infoSparse, infoComposite = 1, 2, 3, 4, 5

	shapeDim, shapeUnknown = 2, 3
)

// Signature is one way to call a model: tensors to feed and tensors to fetch,
// each list sorted by name.
type Signature struct {
	Name    string
	Method  string
	Inputs  []Tensor
	Outputs []Tensor
}

// Tensor is an input or output of a signature.
type Tensor struct {
	dtype.TensorSpec          // Name is the key that callers use
	Node             string   // where it is in the graph: "op:0"
	Encoding         Encoding // other than Dense, Node is empty
}

// Encoding says how a tensor of a signature is put together.
type Encoding string

// The encodings.
const (
	Dense     Encoding = ""          // one tensor
	Sparse    Encoding = "sparse"    // indices, values and a shape
	Composite Encoding = "composite" // tensors as a type of Python's says
)

// parseSignature reads a SignatureDef.
func parseSignature(name string, b []byte) *Signature {
	s := &Signature{Name: name}
	for f := range fieldsOf(b) {
		switch f.num {
		case sigInputs:
			s.Inputs = append(s.Inputs, parseNamedTensor(f.bytes))
		case sigOutputs:
			s.Outputs = append(s.Outputs, parseNamedTensor(f.bytes))
		case sigMethod:
			s.Method = string(f.bytes)
		}
	}
	byName := func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(s.Inputs, byName)
	slices.SortFunc(s.Outputs, byName)
	return s
}

// parseNamedTensor reads one entry of a signature's inputs or outputs.
func parseNamedTensor(b []byte) Tensor {
	name, info := mapEntry(b)
	t := parseTensorInfo(info)
	t.Name = name
	return t
}

// parseTensorInfo reads a TensorInfo.
func parseTensorInfo(b []byte) Tensor {
	t := Tensor{}
	for f := range fieldsOf(b) {
		switch f.num {
		case infoName:
			t.Node = string(f.bytes)
		case infoSparse:
			t.Encoding = Sparse
		case infoComposite:
			t.Encoding = Composite
		case infoType:
			t.DType = dtype.DataType(int32(f.number))
		case infoShape:
			t.Shape = parseShape(f.bytes)
		}
	}
	return t
}

// parseShape reads a TensorShapeProto.
func parseShape(b []byte) dtype.Shape {
	dims := []int64{}
	for f := range fieldsOf(b) {
		switch f.num {
		case shapeUnknown:
			if f.number != 0 {
				return dtype.Shape{}
			}
		case shapeDim:
			size, _ := attrField(f.bytes, 1)
			dims = append(dims, int64(size.number))
		}
	}
	return dtype.MakeShape(dims...)
}

// signatures reads every signature and finds its tensors in the graph.
func (r *reader) signatures(m *metaGraph) (map[string]*Signature, error) {
	all := map[string]*Signature{}
	for name, b := range m.signatures {
		if name != initSignature && name != trainSignature {
			all[name] = parseSignature(name, b)
		}
	}
	for _, name := range sortedKeys(all) {
		s := all[name]
		for _, side := range []struct {
			what    string
			tensors []Tensor
		}{{"input", s.Inputs}, {"output", s.Outputs}} {
			for i := range side.tensors {
				if err := r.resolve(m, s, side.what, &side.tensors[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// resolve checks that a tensor of a signature is in the graph, as described.
func (r *reader) resolve(m *metaGraph, s *Signature, what string, t *Tensor) error {
	fail := func(format string, args ...any) error {
		e := r.fail("%s: "+format, append([]any{what}, args...)...)
		e.Signature, e.Tensor = s.Name, t.Name
		return e
	}
	if err := t.Shape.Check(); err != nil {
		return fail("%v", err)
	}
	if t.Encoding != Dense {
		return nil
	}
	if t.Node == "" {
		return fail("it names no tensor of the graph")
	}
	ref := parseRef(t.Node)
	n, ok := m.node(ref.node)
	if ref.control || !ok {
		return fail("the graph has no node %s", quote(ref.node))
	}
	t.Node = ref.node + ":" + strconv.Itoa(ref.port)
	types, known := m.outputTypes(n)
	if !known {
		return nil // an operation of a library of its own, or of a list's length we cannot tell
	}
	if ref.port >= len(types) {
		return fail("node %s (%s) has %d outputs, there is no %s", quote(n.name), quote(n.op), len(types), quote(t.Node))
	}
	if has := dtype.DataType(types[ref.port]).Base(); has != 0 && has != t.DType.Base() {
		return fail("the signature says %v, node %s gives %v", t.DType.Base(), quote(n.name), has)
	}
	return nil
}

// node returns a node of the main graph.
func (m *metaGraph) node(name string) (nodeDef, bool) {
	b, ok := m.nodes[name]
	if !ok {
		return nodeDef{}, false
	}
	return parseNode(b), true
}

// outputTypes returns the types of a node's outputs, as far as they are known.
func (m *metaGraph) outputTypes(n nodeDef) ([]int32, bool) {
	if fn := m.functions[n.op]; fn != nil {
		return fn.outputTypes()
	}
	return outputTypes(n)
}

// describe returns a signature for a message: name(inputs) -> outputs.
func (s *Signature) describe() string {
	names := func(tensors []Tensor) string {
		var out []string
		for _, t := range tensors {
			out = append(out, quote(t.Name))
		}
		return strings.Join(out, ", ")
	}
	return quote(s.Name) + " (" + names(s.Inputs) + ") -> (" + names(s.Outputs) + ")"
}
