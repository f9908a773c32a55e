package metagraph

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/sigdef"
)

// Node is a NodeDef: one use of an operation or function. Its attributes stay
// serialized.
type Node struct {
	Name, Op string
	Inputs   []string
	Attrs    []attrDef
}

// attrDef is one attribute; value is an AttrValue.
type attrDef struct {
	Name  string
	Value []byte
}

// ParseNode reads a NodeDef.
func ParseNode(b []byte) Node {
	var n Node
	for f := range wire.Fields(b) {
		switch f.Num {
		case message.NodeName:
			n.Name = string(f.Bytes)
		case message.NodeOp:
			n.Op = string(f.Bytes)
		case message.NodeInput:
			n.Inputs = append(n.Inputs, string(f.Bytes))
		case message.NodeAttr:
			name, value := message.MapEntry(f.Bytes)
			n.Attrs = append(n.Attrs, attrDef{Name: name, Value: value})
		}
	}
	return n
}

// NameOf reads only the name of a NodeDef.
func NameOf(b []byte) string {
	for f := range wire.Fields(b) {
		if f.Num == message.NodeName {
			return string(f.Bytes)
		}
	}
	return ""
}

// Attr returns an attribute's AttrValue, nil if the node has none by that name.
func (n Node) Attr(name string) []byte {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// DataInputs returns the inputs that are tensors, not control dependencies.
func (n Node) DataInputs() []string {
	for i, in := range n.Inputs {
		if strings.HasPrefix(in, "^") {
			return n.Inputs[:i]
		}
	}
	return n.Inputs
}

// Field numbers of TensorProto.
const (
	TensorType, TensorShape, TensorContent, TensorStrings, TensorHandles, TensorVariants = 1, 2, 4, 8, 14, 15
)

// ConstStrings returns the strings that a Const node holds. Fewer strings than elements mean
// that the last one, or "" if there is none, stands for the rest. It is false if they are
// written in two ways.
func ConstStrings(n Node) ([]string, bool) {
	f, ok := message.Find(n.Attr("value"), message.AttrTensorField)
	if n.Op != "Const" || !ok {
		return nil, false
	}
	var values []string
	var typ uint64
	var content, shape []byte
	for e := range wire.Fields(f.Bytes) {
		switch e.Num {
		case TensorType:
			typ = e.Number
		case TensorShape:
			shape = e.Bytes
		case TensorContent:
			content = e.Bytes
		case TensorStrings:
			values = append(values, string(e.Bytes))
		}
	}
	if dtype.DataType(int32(typ)) != dtype.String {
		return nil, false
	}
	if len(content) > 0 {
		if len(values) > 0 {
			return nil, false
		}
		return contentStrings(content, shape)
	}
	return values, true
}

// contentStrings reads the strings of a TensorProto's tensor_content, as TensorFlow's C API
// writes them: the length of each as a varint, then the bytes of all.
func contentStrings(content, shape []byte) ([]string, bool) {
	dims, err := sigdef.ParseShape(shape).ToSlice()
	if err != nil {
		return nil, false
	}
	n, err := dtype.Elements(dims)
	if err != nil || n > int64(len(content)) {
		return nil, false
	}
	lengths := make([]uint64, n)
	for i := range lengths {
		length, size := binary.Uvarint(content)
		if size <= 0 || size > binary.MaxVarintLen32 || length > math.MaxUint32 {
			return nil, false
		}
		lengths[i], content = length, content[size:]
	}
	values := make([]string, n)
	for i, length := range lengths {
		if length > uint64(len(content)) {
			return nil, false
		}
		values[i], content = string(content[:length]), content[length:]
	}
	return values, len(content) == 0
}

// Ref is a reference to an output of a node in a graph: "node:1".
type Ref struct {
	Node    string
	Port    int
	Control bool // "^node": the node must run, but its outputs are not used
}

// ParseRef parses a reference of a graph, in which ":0" may be omitted.
func ParseRef(s string) Ref {
	if node, ok := strings.CutPrefix(s, "^"); ok {
		return Ref{Node: node, Control: true}
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if port, err := strconv.ParseUint(s[i+1:], 10, 31); err == nil {
			return Ref{Node: s[:i], Port: int(port)}
		}
	}
	return Ref{Node: s}
}

// String returns a reference as "node:port" or "^node".
func (t Ref) String() string {
	if t.Control {
		return "^" + t.Node
	}
	return t.Node + ":" + strconv.Itoa(t.Port)
}
