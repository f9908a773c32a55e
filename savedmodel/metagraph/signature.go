package metagraph

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// ReadSignatures reads every signature and finds its tensors in the graph. A signature
// that does not fit the graph is added to unusable, so that the others can still be
// called. It is an error if no signature is usable.
func (m *Graph) ReadSignatures(r *Report) (all map[string]*sigdef.Signature, unusable map[string]error, err error) {
	all, unusable = map[string]*sigdef.Signature{}, map[string]error{}
	for name, b := range m.SignatureDefs {
		if name != InitSignature && name != trainSignature {
			s, err := sigdef.Parse(name, b)
			if err != nil {
				return nil, nil, r.Fail("%v", err)
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

// resolveAll finds the tensors of a signature in the graph. All inputs and at least one
// output must exist. Each other output keeps its error.
func (m *Graph) resolveAll(r *Report, s *sigdef.Signature) error {
	for i := range s.Inputs {
		if err := m.resolve(r, s, "input", &s.Inputs[i]); err != nil {
			return err
		}
		if i > 0 && s.Inputs[i-1].Name == s.Inputs[i].Name {
			return r.FailTensor(s, &s.Inputs[i], "input: two tensors have this name")
		}
	}
	var failed error
	found := len(s.Outputs) == 0
	for i := range s.Outputs {
		t := &s.Outputs[i]
		t.Err = m.resolve(r, s, "output", t)
		if t.Err == nil && i > 0 && s.Outputs[i-1].Name == t.Name {
			t.Err = r.FailTensor(s, t, "output: two tensors have this name")
		}
		found = found || t.Err == nil
		failed = cmp.Or(failed, t.Err)
		if d := t.DType.Base(); t.Err == nil && (d == dtype.Resource || d == dtype.Variant) {
			t.Err = r.FailTensor(s, t, "output: has dtype %v; such a tensor stays in TensorFlow and cannot be fetched", d)
		}
	}
	if found {
		return nil
	}
	return failed
}

// SignatureTensors returns every tensor that the inputs or the outputs of a
// SignatureDef name, including the components of sparse and composite tensors. side is
// the field number of the inputs or of the outputs.
func SignatureTensors(def []byte, side protowire.Number) []string {
	var names []string
	add := func(f wire.Field) {
		if len(f.Bytes) > 0 {
			names = append(names, ParseRef(string(f.Bytes)).String())
		}
	}
	for entry := range wire.Fields(def) {
		if entry.Num != side {
			continue
		}
		_, info := message.MapEntry(entry.Bytes)
		message.Each(info, message.TensorInfoType(), func(b []byte, m *message.Type) error { //nolint:errcheck // visit returns none
			for f := range wire.Fields(b) {
				if m.Name == "TensorInfo" && f.Num == 1 || m.Name == "CooSparse" {
					add(f)
				}
			}
			return nil
		})
	}
	return names
}

// Fields of SignatureDef.
const SignatureInputs, SignatureOutputs = 1, 2

// resolve checks that a tensor of a signature is in the graph, with the signature's
// type. what is "input" or "output".
func (m *Graph) resolve(r *Report, s *sigdef.Signature, what string, t *sigdef.Tensor) error {
	if err := t.Shape.Check(); err != nil {
		return r.FailTensor(s, t, "%s: %v", what, err)
	}
	if t.Node == "" {
		return r.FailTensor(s, t, "%s: it names no tensor of the graph", what)
	}
	ref := ParseRef(t.Node)
	n, ok := m.Node(ref.Node)
	if ref.Control || !ok {
		return r.FailTensor(s, t, "%s: the graph has no node %s", what, modelfile.Quote(ref.Node))
	}
	t.Node = ref.Node + ":" + strconv.Itoa(ref.Port)
	types, known := m.outputTypes(n)
	if !known {
		return nil // a custom operation, or a list of unknown length
	}
	if ref.Port >= len(types) {
		return r.FailTensor(s, t, "%s: node %s (%s) has %d outputs, there is no %s", what, modelfile.Quote(n.Name), modelfile.Quote(n.Op), len(types), modelfile.Quote(t.Node))
	}
	if has := dtype.DataType(types[ref.Port]).Base(); has != 0 && has != t.DType.Base() {
		if what == "input" && has == dtype.String && takesExamples(s.Method) {
			r.Warnings = append(r.Warnings, r.FailTensor(s, t, "input: the signature says %v, the graph takes serialized Examples", t.DType.Base()))
			t.DType = has
			return nil
		}
		return r.FailTensor(s, t, "%s: the signature says %v, node %s gives %v", what, t.DType.Base(), modelfile.Quote(n.Name), has)
	}
	return nil
}

// takesExamples reports whether the input of a signature with a method name is Examples. Exporters wrote the data
// type of what they hold for it (half_plus_three of TensorFlow Serving), which nothing compares there.
func takesExamples(method string) bool {
	return method == "tensorflow/serving/regress" || method == "tensorflow/serving/classify"
}
