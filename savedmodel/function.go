package savedmodel

import (
	"slices"

	"millrace/dtype"
)

// Field numbers of FunctionDef, OpDef, OpDef.ArgDef and OpDef.AttrDef.
const (
	functionSignature, functionNode, functionRet, functionAttr = 1, 3, 4, 5

	signatureName, signatureInput, signatureOutput, signatureAttr = 1, 2, 3, 4

	attrDefName, attrDefType = 1, 2

	argName, argType, argTypeAttr, argNumberAttr, argTypeListAttr = 1, 3, 4, 5, 6
)

// function is a FunctionDef and what its body does.
type function struct {
	name       string
	def        []byte // the FunctionDef
	inputs     []argDef
	outputs    []argDef
	attrs      map[string]string // declared attributes and their types, "list(type)"
	implements string            // interface it may be swapped for others of, "" if none
	counts     []string          // attributes that say how often an argument repeats
	nodes      [][]byte
	effects    *effects          // made on demand
	byName     map[string][]byte // nodes, made on demand
}

// argDef is an input or output of a function.
type argDef struct {
	name string
	typ  int32 // 0 if an attribute of the caller decides
	list bool  // several tensors
}

// parseFunction reads a FunctionDef.
func parseFunction(b []byte) *function {
	fn := &function{def: b, attrs: map[string]string{}}
	for f := range fieldsOf(b) {
		switch f.num {
		case functionSignature:
			fn.parseSignature(f.bytes)
		case functionNode:
			fn.nodes = append(fn.nodes, f.bytes)
		case functionAttr:
			if name, value := mapEntry(f.bytes); name == "api_implements" {
				fn.implements, _ = attrString(value)
			}
		}
	}
	return fn
}

// parseSignature reads the OpDef that is a function's signature.
func (fn *function) parseSignature(b []byte) {
	for f := range fieldsOf(b) {
		switch f.num {
		case signatureName:
			fn.name = string(f.bytes)
		case signatureInput:
			fn.inputs = append(fn.inputs, fn.parseArg(f.bytes))
		case signatureOutput:
			fn.outputs = append(fn.outputs, fn.parseArg(f.bytes))
		case signatureAttr:
			name, _ := attrField(f.bytes, attrDefName)
			typ, _ := attrField(f.bytes, attrDefType)
			fn.attrs[string(name.bytes)] = string(typ.bytes)
		}
	}
}

// parseArg reads an ArgDef.
func (fn *function) parseArg(b []byte) argDef {
	var a argDef
	for f := range fieldsOf(b) {
		switch f.num {
		case argName:
			a.name = string(f.bytes)
		case argType:
			a.typ = int32(f.number)
		case argNumberAttr, argTypeListAttr:
			a.list = a.list || len(f.bytes) > 0
			if f.num == argNumberAttr {
				fn.counts = append(fn.counts, string(f.bytes))
			}
		}
	}
	return a
}

// outputTypes returns the type of each output of a function, 0 where the caller
// decides; ok is false if not even their number is known.
func (fn *function) outputTypes() (types []int32, ok bool) {
	for _, a := range fn.outputs {
		if a.list {
			return nil, false
		}
		types = append(types, a.typ)
	}
	return types, true
}

// node returns a node of the body.
func (fn *function) node(name string) (nodeDef, bool) {
	if fn.byName == nil {
		fn.byName = make(map[string][]byte, len(fn.nodes))
		for _, b := range fn.nodes {
			fn.byName[nameOf(b)] = b
		}
	}
	b, ok := fn.byName[name]
	return parseNode(b), ok
}

// input returns the position of an argument, -1 if there is none by that name
// or if a list before it moves the positions.
func (fn *function) input(name string) int {
	for i, a := range fn.inputs {
		if a.list {
			return -1
		}
		if a.name == name {
			return i
		}
	}
	return -1
}

// callTypes are the operations that call functions with types of their own: the
// attributes with the functions, with the types of the arguments and of the results.
// A function's types have to be the same. Kernels believe that they are.
var callTypes = map[string][]struct{ function, arguments, results string }{
	"PartitionedCall":         {{"f", "Tin", "Tout"}},
	"StatefulPartitionedCall": {{"f", "Tin", "Tout"}},
	"If":                      {{"then_branch", "Tin", "Tout"}, {"else_branch", "Tin", "Tout"}},
	"StatelessIf":             {{"then_branch", "Tin", "Tout"}, {"else_branch", "Tin", "Tout"}},
	"Case":                    {{"branches", "Tin", "Tout"}},
	"StatelessCase":           {{"branches", "Tin", "Tout"}},
	"While":                   {{"cond", "T", ""}, {"body", "T", "T"}},
	"StatelessWhile":          {{"cond", "T", ""}, {"body", "T", "T"}},
}

// callCheck checks the calls of a judged graph.
type callCheck struct{ *judgement }

// check refuses a call whose types are not those of the function that it calls.
func (j callCheck) check(n nodeDef) error {
	for _, c := range callTypes[n.op] {
		for _, name := range outerFunctions(n.attr(c.function)) {
			fn := j.m.functions[name]
			if fn == nil {
				continue
			}
			for _, side := range []struct {
				what, attr string
				args       []argDef
			}{{"takes", c.arguments, fn.inputs}, {"returns", c.results, fn.outputs}} {
				types, ok := attrTypes(n.attr(side.attr))
				if i, has, want := differ(types, side.args); ok && i >= 0 {
					return j.r.fail("node %s (%s): function %s %s %s, and attribute %s says %s (number %d)",
						quote(n.name), quote(n.op), quote(name), side.what, want, side.attr, has, i)
				}
			}
		}
	}
	return nil
}

// differ returns the first position at which types are not those of arguments, and
// both types there; -1 if there is none, or the caller decides some of them.
func differ(types []int32, args []argDef) (at int, has, want string) {
	nameAt := func(i, n int, typ func() int32) string {
		if i >= n {
			return "nothing"
		}
		return dtype.DataType(typ()).String()
	}
	if slices.ContainsFunc(args, func(a argDef) bool { return a.list || a.typ == 0 }) {
		return -1, "", ""
	}
	for i := range max(len(types), len(args)) {
		has := nameAt(i, len(types), func() int32 { return types[i] })
		want := nameAt(i, len(args), func() int32 { return args[i].typ })
		if has != want {
			return i, has, want
		}
	}
	return -1, "", ""
}
