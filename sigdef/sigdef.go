// Package sigdef reads the signatures of a model: the protobuf messages SignatureDef
// and TensorInfo. Package savedmodel checks that their tensors are in the graph.
//
//	signatures, err := sigdef.ParseMetaGraph(meta)
//	for _, in := range signatures["serving_default"].Inputs {
//		fmt.Println(in.Name, in.TensorSpec, in.Node) // image float32[?, 28, 28] serving_default_image:0
//	}
//
// It is separate from savedmodel so that package tfbridge, which loads models without
// checks, does not link the checks.
package sigdef

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/wire"
)

// Signature is one way to call a model: tensors to feed and tensors to fetch,
// each list sorted by name. For a sparse, ragged or composite tensor a list has
// its components.
type Signature struct {
	Name    string
	Method  string
	Inputs  []Tensor
	Outputs []Tensor
}

// Field numbers of MetaGraphDef and SignatureDef.
const (
	metaSignature = 5

	sigInputs, sigOutputs, sigMethod = 1, 2, 3
)

// ParseMetaGraph reads the signatures of a serialized MetaGraphDef, by name. They
// include the signatures that only TensorFlow's loader runs.
func ParseMetaGraph(meta []byte) (map[string]*Signature, error) {
	all := map[string]*Signature{}
	ok := wire.Each(meta, func(num protowire.Number, v []byte, _ uint64) bool {
		if num != metaSignature {
			return true
		}
		name, def, ok := mapEntry(v)
		s, err := Parse(name, def)
		all[name] = s
		return ok && err == nil
	})
	if !ok {
		return nil, errDamaged("description of the model")
	}
	return all, nil
}

// Parse reads a serialized SignatureDef.
func Parse(name string, def []byte) (*Signature, error) {
	s := &Signature{Name: name}
	ok := wire.Each(def, func(num protowire.Number, v []byte, _ uint64) (ok bool) {
		ok = true
		switch num {
		case sigInputs:
			s.Inputs, ok = appendTensor(s.Inputs, v)
		case sigOutputs:
			s.Outputs, ok = appendTensor(s.Outputs, v)
		case sigMethod:
			s.Method = string(v)
		}
		return ok
	})
	if !ok {
		return nil, errDamaged("signature")
	}
	byName := func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(s.Inputs, byName)
	slices.SortFunc(s.Outputs, byName)
	return s, nil
}

// appendTensor reads an entry of a signature's inputs or outputs.
func appendTensor(tensors []Tensor, entry []byte) ([]Tensor, bool) {
	name, info, ok := mapEntry(entry)
	if !ok {
		return nil, false
	}
	return appendInfo(tensors, info, name, 0)
}
