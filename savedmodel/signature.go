package savedmodel

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/savedmodel/sigdef"
)

// readSignatures reads every signature and finds its tensors in the graph. A
// signature that does not fit the graph goes to unusable, so that the others can
// still be called. It is an error if there are no others.
func (m *metaGraph) readSignatures(r *report) (all map[string]*sigdef.Signature, unusable map[string]error, err error) {
	all, unusable = map[string]*sigdef.Signature{}, map[string]error{}
	for name, b := range m.signatures {
		if name != initSignature && name != trainSignature {
			s, err := sigdef.Parse(name, b)
			if err != nil {
				return nil, nil, r.fail("%v", err)
			}
			all[name] = s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := m.resolveAll(r, all[name]); err != nil {
			unusable[name] = err
			delete(all, name)
			continue
		}
		m.describeInputs(all[name])
	}
	if len(all) == 0 && len(unusable) > 0 {
		return nil, nil, unusable[slices.Sorted(maps.Keys(unusable))[0]]
	}
	return all, unusable, nil
}

// resolveAll finds the tensors of a signature in the graph. Every input must be
// there, and one output at least. Other outputs keep the error that says what is
// wrong with them.
func (m *metaGraph) resolveAll(r *report, s *sigdef.Signature) error {
	for i := range s.Inputs {
		if err := m.resolve(r, s, "input", &s.Inputs[i]); err != nil {
			return err
		}
		if i > 0 && s.Inputs[i-1].Name == s.Inputs[i].Name {
			return r.failTensor(s, "input", &s.Inputs[i], "two tensors have this name")
		}
	}
	var failed error
	found := len(s.Outputs) == 0
	for i := range s.Outputs {
		t := &s.Outputs[i]
		t.Err = m.resolve(r, s, "output", t)
		if t.Err == nil && i > 0 && s.Outputs[i-1].Name == t.Name {
			t.Err = r.failTensor(s, "output", t, "two tensors have this name")
		}
		found = found || t.Err == nil
		failed = cmp.Or(failed, t.Err)
		if d := t.DType.Base(); t.Err == nil && (d == dtype.Resource || d == dtype.Variant) {
			t.Err = r.failTensor(s, "output", t, "has dtype %v; such a tensor stays in TensorFlow and cannot be fetched", d)
		}
	}
	if found {
		return nil
	}
	return failed
}

// signatureTensors returns every tensor that the inputs or the outputs of a
// SignatureDef name, components of sparse and composite tensors included. side
// is the field number of the inputs or of the outputs.
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

// resolve checks that a tensor of a signature is in the graph, with the type that
// the signature says. what is "input" or "output".
func (m *metaGraph) resolve(r *report, s *sigdef.Signature, what string, t *sigdef.Tensor) error {
	if err := t.Shape.Check(); err != nil {
		return r.failTensor(s, what, t, "%v", err)
	}
	if t.Node == "" {
		return r.failTensor(s, what, t, "it names no tensor of the graph")
	}
	ref := parseRef(t.Node)
	n, ok := m.node(ref.node)
	if ref.control || !ok {
		return r.failTensor(s, what, t, "the graph has no node %s", quote(ref.node))
	}
	t.Node = ref.node + ":" + strconv.Itoa(ref.port)
	types, known := m.outputTypes(n)
	if !known {
		return nil // a custom operation, or a list whose length the graph does not say
	}
	if ref.port >= len(types) {
		return r.failTensor(s, what, t, "node %s (%s) has %d outputs, there is no %s", quote(n.name), quote(n.op), len(types), quote(t.Node))
	}
	if has := dtype.DataType(types[ref.port]).Base(); has != 0 && has != t.DType.Base() {
		return r.failTensor(s, what, t, "the signature says %v, node %s gives %v", t.DType.Base(), quote(n.name), has)
	}
	return nil
}
