package explain

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
)

// arguments returns the inputs of a node that are constants, by the names that the
// operation's definition gives them.
func (p *parser) arguments(nodes map[string]*tfproto.NodeDef, n *tfproto.NodeDef) []Argument {
	serialized, err := p.define(n.GetOp())
	def := &tfproto.OpDef{}
	if err != nil || proto.Unmarshal(serialized, def) != nil {
		return nil
	}
	var args []Argument
	at := 0
	for _, arg := range def.GetInputArg() {
		single, size := width(arg, n)
		if single && at < len(n.GetInput()) {
			from := nodes[producer(n.GetInput()[at])]
			if text := constant(from); text != "" {
				args = append(args, Argument{Name: arg.GetName(), Value: text})
			}
		}
		at += size
	}
	return args
}

// width returns how many inputs of a node an argument consists of, and whether it is a
// single tensor.
func width(arg *tfproto.OpDef_ArgDef, n *tfproto.NodeDef) (single bool, size int) {
	switch {
	case arg.GetNumberAttr() != "":
		return false, int(n.GetAttr()[arg.GetNumberAttr()].GetI())
	case arg.GetTypeListAttr() != "":
		return false, len(n.GetAttr()[arg.GetTypeListAttr()].GetList().GetType())
	}
	return true, 1
}

// maxText is the length at which texts are cut.
const maxText = 40

// constant returns the value of a node that is a constant: a number, a bool or a quoted
// text; for several values it returns their number. It returns "" for other nodes.
func constant(n *tfproto.NodeDef) string {
	t := n.GetAttr()["value"].GetTensor()
	if n.GetOp() != "Const" || t == nil {
		return ""
	}
	elements := int64(1)
	for _, d := range t.GetTensorShape().GetDim() {
		elements *= d.GetSize()
	}
	if elements != 1 {
		return fmt.Sprintf("%d of type %v", elements, dtype.DataType(t.GetDtype()))
	}
	return scalar(t)
}

// scalar returns the only element of a tensor as text, "" for types that arguments do
// not have.
func scalar(t *tfproto.TensorProto) string {
	content := t.GetTensorContent()
	switch dtype.DataType(t.GetDtype()) {
	case dtype.Int64:
		if len(content) == 8 {
			return fmt.Sprint(int64(binary.LittleEndian.Uint64(content)))
		}
		return fmt.Sprint(first(t.GetInt64Val()))
	case dtype.Int32:
		if len(content) == 4 {
			return fmt.Sprint(int32(binary.LittleEndian.Uint32(content)))
		}
		return fmt.Sprint(first(t.GetIntVal()))
	case dtype.Float:
		if len(content) == 4 {
			return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(content)))
		}
		return fmt.Sprint(first(t.GetFloatVal()))
	case dtype.Bool:
		if len(content) == 1 {
			return fmt.Sprint(content[0] != 0)
		}
		return fmt.Sprint(first(t.GetBoolVal()))
	case dtype.String:
		text := string(first(t.GetStringVal()))
		if len(text) > maxText {
			text = strings.ToValidUTF8(text[:maxText], "") + "..."
		}
		return fmt.Sprintf("%q", text)
	}
	return ""
}

// first returns the first element, the zero value if there is none: protocol buffers
// omit it.
func first[T any](values []T) T {
	if len(values) > 0 {
		return values[0]
	}
	var zero T
	return zero
}
