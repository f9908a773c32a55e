package loaders_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/tfbridge"

	"google.golang.org/protobuf/proto"
)

// node is a node of a serialized graph or of one of its functions.
type node struct {
	*tfproto.NodeDef
	constants []string // the inputs that are constant scalars: "buffer_size=7"
}

// String returns the operation with its constant inputs, and whether it keeps
// the order where it says so.
func (n node) String() string {
	text := strings.Join(append([]string{n.GetOp()}, n.constants...), " ")
	if order, ok := n.GetAttr()["deterministic"]; ok {
		text += fmt.Sprintf(" deterministic=%s", order.GetS())
	}
	return text
}

// deterministic is the end of [node.String] for an operation that keeps the order, and
// for one that does not.
func deterministic(keeps bool) string { return fmt.Sprint(" deterministic=", keeps) }

// nodesOf returns the nodes of a dataset's graph and of its functions.
func nodesOf(t *testing.T, d *fixture.Dataset) (nodes []node) {
	t.Helper()
	g := graphOf(built(t, d))
	var data bytes.Buffer
	if _, err := g.WriteTo(&data); err != nil {
		t.Fatal(err)
	}
	def := &tfproto.GraphDef{}
	if err := proto.Unmarshal(data.Bytes(), def); err != nil {
		t.Fatal(err)
	}
	bodies := [][]*tfproto.NodeDef{def.GetNode()}
	for _, f := range def.GetLibrary().GetFunction() {
		bodies = append(bodies, f.GetNodeDef())
	}
	for _, body := range bodies {
		for _, n := range body {
			nodes = append(nodes, node{n, constantInputs(t, g, body, n)})
		}
	}
	return nodes
}

// constantInputs returns the inputs of a node that are constant scalars, with
// the names that the operation's definition gives them.
func constantInputs(t *testing.T, g *tfbridge.Graph, body []*tfproto.NodeDef, n *tfproto.NodeDef) (constants []string) {
	t.Helper()
	scalars := map[string]string{}
	for _, c := range body {
		if c.GetOp() == "Const" {
			if text, ok := scalar(c.GetAttr()["value"].GetTensor()); ok {
				scalars[c.GetName()] = text
			}
		}
	}
	for i, name := range inputNames(t, g, n) {
		from, _, _ := strings.Cut(n.GetInput()[i], ":")
		if text, ok := scalars[from]; ok {
			constants = append(constants, name+"="+text)
		}
	}
	return constants
}

// inputNames returns the name of each of a node's inputs.
func inputNames(t *testing.T, g *tfbridge.Graph, n *tfproto.NodeDef) (names []string) {
	t.Helper()
	data, err := g.OpDef(n.GetOp())
	if err != nil {
		t.Fatal(err)
	}
	op := &tfproto.OpDef{}
	if err := proto.Unmarshal(data, op); err != nil {
		t.Fatal(err)
	}
	for _, arg := range op.GetInputArg() {
		count := 1
		if arg.GetNumberAttr() != "" {
			count = int(n.GetAttr()[arg.GetNumberAttr()].GetI())
		} else if arg.GetTypeListAttr() != "" {
			count = len(n.GetAttr()[arg.GetTypeListAttr()].GetList().GetType())
		}
		for range count {
			names = append(names, arg.GetName())
		}
	}
	return names
}

// scalar returns the value of a scalar int64 or string.
func scalar(p *tfproto.TensorProto) (text string, ok bool) {
	switch {
	case len(p.GetTensorShape().GetDim()) > 0:
		return "", false
	case p.GetDtype() == tfproto.DataType_DT_INT64:
		// TensorFlow omits a field with its default value.
		return fmt.Sprint(append(p.GetInt64Val(), 0)[0]), true
	case p.GetDtype() == tfproto.DataType_DT_STRING:
		return string(append(p.GetStringVal(), nil)[0]), true
	}
	return "", false
}
