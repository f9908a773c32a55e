package savedmodel

import (
	"slices"
)

// direct describes an operation that calls functions: the attributes that name
// them, and the first input that is an argument. Only TensorFlow knows with which
// arguments it calls a function that another attribute names.
type direct struct {
	attrs []string
	skip  int
}

var directCalls = map[string]direct{
	"PartitionedCall": {[]string{"f"}, 0}, "StatefulPartitionedCall": {[]string{"f"}, 0},
	"If": {[]string{"then_branch", "else_branch"}, 1}, "StatelessIf": {[]string{"then_branch", "else_branch"}, 1},
	"Case": {[]string{"branches"}, 1}, "StatelessCase": {[]string{"branches"}, 1},
}

// directFunctions returns the functions that an attribute of the node names
// and that take the node's inputs one to one, in their order.
func (n nodeDef) directFunctions(attr string, value []byte) []string {
	d, ok := directCalls[n.op]
	if !ok || !slices.Contains(d.attrs, attr) || len(n.dataInputs()) < d.skip {
		return nil
	}
	return outerFunctions(value)
}

// outerFunctions returns the functions that an attribute names, without those that it
// binds to their attributes.
func outerFunctions(value []byte) []string {
	var names []string
	nameOf := func(b []byte) {
		f, _ := attrField(b, funcName)
		names = append(names, string(f.bytes))
	}
	for f := range fieldsOf(value) {
		switch f.num {
		case attrFuncField:
			nameOf(f.bytes)
		case attrListField:
			for e := range fieldsOf(f.bytes) {
				if e.num == listFuncField {
					nameOf(e.bytes)
				}
			}
		}
	}
	return names
}

// functionsOf returns the functions that an attribute of the node names.
func (n nodeDef) functionsOf(attr string) []string {
	var names []string
	functionsIn(n.attr(attr), attrValueType(), func(name string) { names = append(names, name) })
	return names
}

// calleeOf returns the function that a node calls, nil if it calls none or several.
func (m *metaGraph) calleeOf(n nodeDef) *function {
	if n.op != "PartitionedCall" && n.op != "StatefulPartitionedCall" {
		return nil
	}
	if names := n.functionsOf("f"); len(names) == 1 {
		return m.functions[names[0]]
	}
	return nil
}
