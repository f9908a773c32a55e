package savedmodel

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/savedmodel/sigdef"
)

// Signature is one way to call a model, see [sigdef.Signature].
type Signature = sigdef.Signature

// Tensor is an input or output of a signature, see [sigdef.Tensor].
type Tensor = sigdef.Tensor

// Encoding says how a tensor of a signature is put together.
type Encoding = sigdef.Encoding

// The encodings.
const (
	Dense     = sigdef.Dense
	Sparse    = sigdef.Sparse
	Composite = sigdef.Composite
)

// signatures reads every signature and finds its tensors in the graph. One that
// does not fit the graph is put aside, so that it does not keep others from
// being called, unless there are no others.
func (r *reader) signatures(m *metaGraph) (map[string]*Signature, error) {
	all := map[string]*Signature{}
	for name, b := range m.signatures {
		if name != initSignature && name != trainSignature {
			s, err := sigdef.Parse(name, b)
			if err != nil {
				return nil, r.fail("%v", err)
			}
			all[name] = s
		}
	}
	r.unusable = map[string]error{}
	for _, name := range sortedKeys(all) {
		if err := r.resolveAll(m, all[name]); err != nil {
			r.unusable[name] = err
			delete(all, name)
		}
	}
	if len(all) == 0 && len(r.unusable) > 0 {
		return nil, r.unusable[sortedKeys(r.unusable)[0]]
	}
	return all, nil
}

// resolveAll resolves the tensors of a signature.
func (r *reader) resolveAll(m *metaGraph, s *Signature) error {
	for i := range s.Inputs {
		if err := r.resolve(m, s, "input", &s.Inputs[i]); err != nil {
			return err
		}
	}
	for i := range s.Outputs {
		if err := r.resolve(m, s, "output", &s.Outputs[i]); err != nil {
			return err
		}
	}
	return nil
}

// signatureTensors returns every tensor that one side of a SignatureDef names,
// those included that a sparse or composite tensor is made of. Side is the
// number of its field.
func signatureTensors(def []byte, side protowire.Number) []string {
	var names []string
	add := func(f wireField) {
		if len(f.bytes) > 0 {
			names = append(names, parseRef(string(f.bytes)).String())
		}
	}
	for entry := range fieldsOf(def) {
		if entry.num != side {
			continue
		}
		_, info := mapEntry(entry.bytes)
		eachMessage(info, tensorInfoType(), func(b []byte, m *messageType) error { //nolint:errcheck // visit returns none
			for f := range fieldsOf(b) {
				if m.name == "TensorInfo" && f.num == 1 || m.name == "CooSparse" {
					add(f)
				}
			}
			return nil
		})
	}
	return names
}

// Fields of SignatureDef.
const signatureInputs, signatureOutputs = 1, 2

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
func describe(s *Signature) string {
	names := func(tensors []Tensor) string {
		var out []string
		for _, t := range tensors {
			out = append(out, quote(t.Name))
		}
		return strings.Join(out, ", ")
	}
	return quote(s.Name) + " (" + names(s.Inputs) + ") -> (" + names(s.Outputs) + ")"
}
