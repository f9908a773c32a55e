package metagraph

import (
	"maps"
	"slices"

	"millrace/savedmodel/message"
)

// variableOps are the operations that hold a variable.
var variableOps = []string{"VarHandleOp", "VariableV2", "Variable", "_VarHandlesOp"}

// HasVariables reports whether the main graph contains variables. Functions get
// variables from there.
func (m *Graph) HasVariables() bool {
	for _, b := range m.Nodes {
		if op, _ := message.Find(b, message.NodeOp); slices.Contains(variableOps, string(op.Bytes)) {
			return true
		}
	}
	return false
}

// uses records how the variables of a model are used.
type uses struct {
	Of    map[string][]Node // nodes of the main graph, by the variable's node
	Named map[string]int    // number of nodes that hold the variable of a name
	// Unnamed is set if a node holds a variable whose name the model leaves open: it
	// could be any.
	Unnamed bool
}

// VariableUses looks through the whole model once.
func (m *Graph) VariableUses() *uses {
	if m.uses != nil {
		return m.uses
	}
	u := &uses{Of: map[string][]Node{}, Named: map[string]int{}}
	count := func(b []byte) bool {
		op, _ := message.Find(b, message.NodeOp)
		if !slices.Contains(variableOps, string(op.Bytes)) {
			return false
		}
		name, ok := VariableName(ParseNode(b))
		u.Named[name]++
		u.Unnamed = u.Unnamed || !ok
		return true
	}
	for name, b := range m.Nodes {
		if count(b) {
			u.Of[name] = nil
		}
	}
	for _, fn := range m.Functions {
		for _, b := range fn.Nodes {
			count(b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Nodes)) {
		n := ParseNode(m.Nodes[name])
		for _, in := range n.DataInputs() {
			if v := ParseRef(in).Node; hasKey(u.Of, v) {
				u.Of[v] = append(u.Of[v], n)
			}
		}
	}
	m.uses = u
	return u
}

// hasKey reports whether a map has a key.
func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// VariableName returns the name of a variable in the session. ok is false if the node
// leaves it open. It ignores containers, which are hardly used.
func VariableName(n Node) (name string, ok bool) {
	name, ok = message.AttrString(n.Attr("shared_name"))
	return name, ok && name != ""
}
