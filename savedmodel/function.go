package savedmodel

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

// returns reports whether the function returns a tensor of its body, or an
// argument.
func (fn *function) returns(tensor string) bool {
	for f := range fieldsOf(fn.def) {
		if f.num != functionRet {
			continue
		}
		if v, _ := attrField(f.bytes, 2); string(v.bytes) == tensor {
			return true
		}
	}
	return false
}
