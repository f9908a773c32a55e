package tfbridge

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
)

// Signature is one way to run a model: named inputs and outputs.
type Signature struct {
	Inputs, Outputs map[string]TensorInfo
	MethodName      string
}

// TensorInfo describes an input or output of a signature.
type TensorInfo struct {
	Name  string // in the graph: "serving_default_x:0"
	DType DataType
	Shape Shape
}

// Output finds the tensor in a graph.
func (t TensorInfo) Output(g *Graph) (Output, error) {
	name, port, ok := strings.Cut(t.Name, ":")
	index, err := 0, error(nil)
	if ok {
		index, err = strconv.Atoi(port)
	}
	op := g.Operation(name)
	if err != nil || op == nil {
		return Output{}, millrace.Errorf(millrace.ErrModel, "no tensor %q in the graph", t.Name)
	}
	o := op.Output(index)
	return o, o.check()
}

// The fields used of MetaGraphDef, SignatureDef, TensorInfo and
// TensorShapeProto, and of the entries of maps.
const (
	metaSignature    = 5
	sigInputs        = 1
	sigOutputs       = 2
	sigMethod        = 3
	infoName         = 1
	infoDType        = 2
	infoShape        = 3
	shapeDim         = 2
	shapeUnknownRank = 3
	dimSize          = 1
	mapKey           = 1
	mapValue         = 2
)

// parseSignatures reads the signatures out of a MetaGraphDef message.
func parseSignatures(meta []byte) (map[string]Signature, error) {
	all := map[string]Signature{}
	ok := eachField(meta, func(num protowire.Number, v []byte, _ uint64) bool {
		if num != metaSignature {
			return true
		}
		key, value, ok := mapEntry(v)
		if !ok {
			return false
		}
		sig, ok := parseSignature(value)
		all[key] = sig
		return ok
	})
	if !ok {
		return nil, millrace.Errorf(millrace.ErrModel, "the model's description is damaged")
	}
	return all, nil
}

// parseSignature reads a SignatureDef message.
func parseSignature(raw []byte) (Signature, bool) {
	s := Signature{Inputs: map[string]TensorInfo{}, Outputs: map[string]TensorInfo{}}
	ok := eachField(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case sigMethod:
			s.MethodName = string(v)
		case sigInputs, sigOutputs:
			key, value, ok := mapEntry(v)
			info, ok2 := parseTensorInfo(value)
			if !ok || !ok2 {
				return false
			}
			if num == sigInputs {
				s.Inputs[key] = info
			} else {
				s.Outputs[key] = info
			}
		}
		return true
	})
	return s, ok
}

// parseTensorInfo reads a TensorInfo message.
func parseTensorInfo(raw []byte) (TensorInfo, bool) {
	t := TensorInfo{}
	ok := eachField(raw, func(num protowire.Number, v []byte, n uint64) (ok bool) {
		ok = true
		switch num {
		case infoName:
			t.Name = string(v)
		case infoDType:
			t.DType = DataType(n)
		case infoShape:
			t.Shape, ok = parseShape(v)
		}
		return ok
	})
	return t, ok
}

// parseShape reads a TensorShapeProto message.
func parseShape(raw []byte) (Shape, bool) {
	dims, unknown := []int64{}, false
	ok := eachField(raw, func(num protowire.Number, v []byte, n uint64) bool {
		switch num {
		case shapeUnknownRank:
			unknown = n != 0
		case shapeDim:
			size := int64(0)
			if !eachField(v, func(num protowire.Number, _ []byte, n uint64) bool {
				if num == dimSize {
					size = int64(n)
				}
				return true
			}) {
				return false
			}
			dims = append(dims, size)
		}
		return true
	})
	if unknown {
		return Shape{}, ok
	}
	return MakeShape(dims...), ok
}

// mapEntry reads an entry of a map from string to a message.
func mapEntry(raw []byte) (key string, value []byte, ok bool) {
	ok = eachField(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case mapKey:
			key = string(v)
		case mapValue:
			value = v
		}
		return true
	})
	return key, value, ok
}
