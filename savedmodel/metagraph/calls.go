package metagraph

import (
	"slices"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
)

// direct describes an operation that calls functions: the attributes that name them,
// and the first input that is an argument. The arguments of functions in other
// attributes are only known to TensorFlow.
type direct struct {
	Attrs []string
	Skip  int
}

// DirectCalls lists the operations that pass their inputs one to one to a function.
var DirectCalls = map[string]direct{
	"PartitionedCall": {[]string{"f"}, 0}, "StatefulPartitionedCall": {[]string{"f"}, 0},
	"If": {[]string{"then_branch", "else_branch"}, 1}, "StatelessIf": {[]string{"then_branch", "else_branch"}, 1},
	"Case": {[]string{"branches"}, 1}, "StatelessCase": {[]string{"branches"}, 1},
}

// DirectFunctions returns the functions that an attribute of the node names
// and that take the node's inputs one to one, in their order.
func (n Node) DirectFunctions(attr string, value []byte) []string {
	d, ok := DirectCalls[n.Op]
	if !ok || !slices.Contains(d.Attrs, attr) || len(n.DataInputs()) < d.Skip {
		return nil
	}
	return OuterFunctions(value)
}

// OuterFunctions returns the functions that an attribute names directly, without the
// functions bound to their attributes.
func OuterFunctions(value []byte) []string {
	var names []string
	nameOf := func(b []byte) {
		f, _ := message.Find(b, message.FuncName)
		names = append(names, string(f.Bytes))
	}
	for f := range wire.Fields(value) {
		switch f.Num {
		case message.AttrFuncField:
			nameOf(f.Bytes)
		case message.AttrListField:
			for e := range wire.Fields(f.Bytes) {
				if e.Num == message.ListFuncField {
					nameOf(e.Bytes)
				}
			}
		}
	}
	return names
}

// FunctionsOf returns the functions that an attribute of the node names.
func (n Node) FunctionsOf(attr string) []string {
	var names []string
	message.FunctionsIn(n.Attr(attr), message.AttrValueType(), func(name string) { names = append(names, name) })
	return names
}

// calleeOf returns the function that a node calls, nil if it calls none or several.
func (m *Graph) calleeOf(n Node) *Function {
	if n.Op != "PartitionedCall" && n.Op != "StatefulPartitionedCall" {
		return nil
	}
	if names := n.FunctionsOf("f"); len(names) == 1 {
		return m.Functions[names[0]]
	}
	return nil
}
