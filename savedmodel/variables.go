package savedmodel

import (
	"maps"
	"slices"
)

// variableOps are the operations that hold a variable.
var variableOps = []string{"VarHandleOp", "VariableV2", "Variable", "_VarHandlesOp"}

// hasVariables reports whether the main graph holds variables. Functions get
// theirs from there.
func (m *metaGraph) hasVariables() bool {
	for _, b := range m.nodes {
		if op, _ := attrField(b, nodeOp); slices.Contains(variableOps, string(op.bytes)) {
			return true
		}
	}
	return false
}

// uses says how the variables of a model are used.
type uses struct {
	of    map[string][]nodeDef // nodes of the main graph, by the variable's node
	named map[string]int       // how many nodes hold the variable of a name
	// unnamed says that a node holds a variable whose name the model does not
	// say: it could be any.
	unnamed bool
}

// variableUses looks through the whole model once.
func (m *metaGraph) variableUses() *uses {
	if m.uses != nil {
		return m.uses
	}
	u := &uses{of: map[string][]nodeDef{}, named: map[string]int{}}
	count := func(b []byte) bool {
		op, _ := attrField(b, nodeOp)
		if !slices.Contains(variableOps, string(op.bytes)) {
			return false
		}
		name, ok := variableName(parseNode(b))
		u.named[name]++
		u.unnamed = u.unnamed || !ok
		return true
	}
	for name, b := range m.nodes {
		if count(b) {
			u.of[name] = nil
		}
	}
	for _, fn := range m.functions {
		for _, b := range fn.nodes {
			count(b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		n := parseNode(m.nodes[name])
		for _, in := range n.dataInputs() {
			if v := parseRef(in).node; hasKey(u.of, v) {
				u.of[v] = append(u.of[v], n)
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

// variableName returns the name under which a variable is kept. ok is false if the
// node does not say. Containers, which nobody uses, would tell more variables
// apart.
func variableName(n nodeDef) (name string, ok bool) {
	name, ok = attrString(n.attr("shared_name"))
	return name, ok && name != ""
}
