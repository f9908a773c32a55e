package savedmodel

import (
	"strings"

	"millrace/dtype"
)

// checkTensors looks at every constant, wherever it stands in the graph.
//
// A constant of dtype resource names a variable, table or file handle by a string.
// So it is a way to a variable that the variable's own operation does not show. A
// constant of strings may have two contents at once: TensorFlow takes one, and
// another reader may take the other.
func (j *judgement) checkTensors() error {
	return eachMessage(j.m.graphDef, graphDefType(), func(b []byte, m *messageType) error {
		if m.name == "AttrValue" {
			return j.checkReference(b)
		}
		if m.name != "TensorProto" {
			return nil
		}
		var typ int32
		var content, text bool
		for f := range fieldsOf(b) {
			switch f.num {
			case tensorType:
				typ = int32(f.number)
			case tensorContent:
				content = true
			case tensorStrings:
				text = true
			case tensorHandles:
				return j.r.unsafe("a constant of dtype resource: it names what no operation of the graph holds")
			case tensorVariants:
				name, _ := attrField(f.bytes, variantType)
				if string(name.bytes) != tensorListType {
					return j.r.unsafe("a constant of dtype variant that holds %s, which cannot be checked", quote(string(name.bytes)))
				}
				if what := checkTensorList(f.bytes); what != "" {
					return j.r.unsafe("a constant of dtype variant that holds a list of tensors: %s", what)
				}
			}
		}
		switch {
		case content && dtype.DataType(typ).Base() == dtype.Variant:
			return j.r.unsafe("a constant of dtype variant that is written as content, which cannot be checked")
		case dtype.DataType(typ).Base() == dtype.Resource:
			return j.r.unsafe("a constant of dtype resource: it names what no operation of the graph holds")
		case content && text:
			return j.r.unsafe("a constant of strings has two contents, of which TensorFlow uses one")
		}
		return nil
	})
}

// checkReference refuses an attribute whose type is a reference. TensorFlow never writes
// one: an operation's own declaration says which of its inputs are references. With one,
// Identity would be a way to a variable that this package takes for a copy.
func (j *judgement) checkReference(attr []byte) error {
	types, _ := attrTypes(attr)
	if t, ok := attrType(attr); ok {
		types = append(types, t)
	}
	for _, t := range types {
		if d := dtype.DataType(t); d.Base() != d {
			return j.r.unsafe("an attribute of type %s: only operations declare references", d)
		}
	}
	return nil
}

// checkPlaceholders refuses attributes whose value the caller of a function gives,
// unless they are types, numbers or shapes. Otherwise it would not be known which
// functions and names the function uses.
func (j *judgement) checkPlaceholders() error {
	for _, name := range sortedKeys(j.m.nodes) {
		if at := unresolved(j.m.nodes[name], nil); at != "" {
			return j.r.unsafe("node %s leaves attribute %s to a caller, and has none", quote(name), quote(at))
		}
	}
	for _, name := range sortedKeys(j.m.functions) {
		fn := j.m.functions[name]
		for _, b := range fn.nodes {
			if at := unresolved(b, fn.attrs); at != "" {
				return j.r.unsafe("node %s of function %s leaves attribute %s to the function's callers; only types, numbers and shapes may be left to them",
					quote(nameOf(b)), quote(name), quote(at))
			}
		}
	}
	return nil
}

// unresolved returns the first attribute that a node leaves to a caller without
// declaring it a type, number or shape. It also looks at what is bound to the
// node's attributes.
func unresolved(node []byte, declared map[string]string) string {
	at := ""
	eachMessage(node, nodeDefType(), func(b []byte, m *messageType) error { //nolint:errcheck // visit returns none
		if m.name != "AttrValue" || at != "" {
			return nil
		}
		f, ok := attrField(b, attrPlaceholderField)
		if !ok {
			return nil
		}
		typ := declared[string(f.bytes)]
		typ = strings.TrimSuffix(strings.TrimPrefix(typ, "list("), ")")
		switch typ {
		case "type", "int", "float", "bool", "shape":
		default:
			at = string(f.bytes)
		}
		return nil
	})
	return at
}

// checkNode refuses nodes that end the process when TensorFlow imports them.
func (j *judgement) checkNode(n nodeDef) error {
	counts := countAttrs(n.op)
	if fn := j.m.functions[n.op]; fn != nil {
		counts = fn.counts
	}
	for _, name := range counts {
		if v, ok := attrInt(n.attr(name)); ok && (v < 0 || v > maxOutputs) {
			return j.r.limit("node %s (%s): attribute %s is %d: an input or output repeats at most %d times",
				quote(n.name), quote(n.op), quote(name), v, maxOutputs)
		}
	}
	if err := j.checkConst(n); err != nil {
		return err
	}
	return j.checkMerge(n)
}

// checkConst refuses constants of another dtype than the node has. Shape functions take
// the constant for what the node says, and that of StridedSlice ends the process.
func (j *judgement) checkConst(n nodeDef) error {
	value, ok := attrField(n.attr("value"), attrTensorField)
	if !ok || n.op != "Const" && n.op != "HostConst" {
		return nil
	}
	typ, _ := attrField(value.bytes, tensorType)
	has := dtype.DataType(int32(typ.number))
	switch says, ok := attrType(n.attr("dtype")); {
	case ok && dtype.DataType(says) != has:
		return j.r.fail("node %s (%s) has dtype %s, and its value has %s", quote(n.name), quote(n.op), dtype.DataType(says), has)
	case ok:
		return nil
	}
	if _, ok := attrField(n.attr("dtype"), attrPlaceholderField); ok {
		return j.r.fail("node %s (%s) leaves its dtype to the callers of a function, and has a value of %s", quote(n.name), quote(n.op), has)
	}
	return nil
}

// checkMerge refuses the head of a loop with more than one entry. TensorFlow
// counts a single one, and a check of its own fails on the second.
func (j *judgement) checkMerge(n nodeDef) error {
	if n.op != "Merge" && n.op != "RefMerge" {
		return nil
	}
	entries, loops := 0, 0
	for _, in := range n.dataInputs() {
		from, _ := j.m.node(parseRef(in).node)
		if from.op == "NextIteration" || from.op == "RefNextIteration" {
			loops++
		} else {
			entries++
		}
	}
	if loops > 0 && entries > 1 {
		return j.r.fail("node %s (%s) begins a loop that is entered in %d places, not one", quote(n.name), quote(n.op), entries)
	}
	return nil
}
