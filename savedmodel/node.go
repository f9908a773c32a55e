package savedmodel

import (
	"strconv"
	"strings"

	"millrace/dtype"
)

// nodeDef is a NodeDef: one use of an operation or function. Its attributes
// stay as they are on the wire.
type nodeDef struct {
	name, op string
	inputs   []string
	attrs    []attrDef
}

// attrDef is one attribute; value is an AttrValue.
type attrDef struct {
	name  string
	value []byte
}

// parseNode reads a NodeDef.
func parseNode(b []byte) nodeDef {
	var n nodeDef
	for f := range fieldsOf(b) {
		switch f.num {
		case nodeName:
			n.name = string(f.bytes)
		case nodeOp:
			n.op = string(f.bytes)
		case nodeInput:
			n.inputs = append(n.inputs, string(f.bytes))
		case nodeAttr:
			name, value := mapEntry(f.bytes)
			n.attrs = append(n.attrs, attrDef{name: name, value: value})
		}
	}
	return n
}

// nameOf reads the name alone of a NodeDef.
func nameOf(b []byte) string {
	for f := range fieldsOf(b) {
		if f.num == nodeName {
			return string(f.bytes)
		}
	}
	return ""
}

// attr returns an attribute's AttrValue, nil if the node has none by that name.
func (n nodeDef) attr(name string) []byte {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value
		}
	}
	return nil
}

// dataInputs returns the inputs that are tensors, not control dependencies.
func (n nodeDef) dataInputs() []string {
	for i, in := range n.inputs {
		if strings.HasPrefix(in, "^") {
			return n.inputs[:i]
		}
	}
	return n.inputs
}

// Field numbers of TensorProto.
const (
	tensorType, tensorContent, tensorStrings, tensorHandles, tensorVariants = 1, 4, 8, 14, 15
)

// constStrings returns the strings that a Const node holds, where they are
// written as such.
func constStrings(n nodeDef) ([]string, bool) {
	f, ok := attrField(n.attr("value"), attrTensorField)
	if n.op != "Const" || !ok {
		return nil, false
	}
	var values []string
	var typ uint64
	for e := range fieldsOf(f.bytes) {
		switch e.num {
		case tensorType:
			typ = e.number
		case tensorContent:
			return nil, false
		case tensorStrings:
			values = append(values, string(e.bytes))
		}
	}
	return values, dtype.DataType(int32(typ)) == dtype.String
}

// tensorRef is a reference to an output of a node in a graph: "node:1".
type tensorRef struct {
	node    string
	port    int
	control bool // "^node": the node has to run, none of its outputs is used
}

// parseRef reads a reference as graphs write it, where ":0" may be left out.
func parseRef(s string) tensorRef {
	if node, ok := strings.CutPrefix(s, "^"); ok {
		return tensorRef{node: node, control: true}
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if port, err := strconv.ParseUint(s[i+1:], 10, 31); err == nil {
			return tensorRef{node: s[:i], port: int(port)}
		}
	}
	return tensorRef{node: s}
}

// String returns a reference as "node:port" or "^node".
func (t tensorRef) String() string {
	if t.control {
		return "^" + t.node
	}
	return t.node + ":" + strconv.Itoa(t.port)
}
