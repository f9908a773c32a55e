//go:build cgo

package tfbridge

import (
	"strconv"
	"strings"

	"millrace"
	"millrace/sigdef"
)

// Signature is one way to run a model: named inputs and outputs.
type Signature struct {
	Inputs, Outputs map[string]TensorInfo
	MethodName      string
}

// TensorInfo describes an input or output of a signature.
type TensorInfo struct {
	Name  string // name in the graph: "serving_default_x:0"
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

// parseSignatures reads the signatures out of a MetaGraphDef message.
func parseSignatures(meta []byte) (map[string]Signature, error) {
	parsed, err := sigdef.ParseMetaGraph(meta)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Signature, len(parsed))
	for key, s := range parsed {
		all[key] = signatureOf(s)
	}
	return all, nil
}

// signatureOf returns a signature in the form of TensorFlow's own Go binding.
func signatureOf(s *sigdef.Signature) Signature {
	return Signature{Inputs: infosOf(s.Inputs), Outputs: infosOf(s.Outputs), MethodName: s.Method}
}

func infosOf(tensors []sigdef.Tensor) map[string]TensorInfo {
	infos := make(map[string]TensorInfo, len(tensors))
	for _, t := range tensors {
		infos[t.Name] = infoOf(t)
	}
	return infos
}

func infoOf(t sigdef.Tensor) TensorInfo {
	return TensorInfo{Name: t.Node, DType: t.DType, Shape: t.Shape}
}
