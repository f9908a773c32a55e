package metagraph

import (
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
)

// Field numbers of FunctionDef, OpDef, OpDef.ArgDef and OpDef.AttrDef.
const (
	FunctionSignature, FunctionNode, FunctionRet, functionAttr = 1, 3, 4, 5

	SignatureName, signatureInput, signatureOutput, signatureAttr = 1, 2, 3, 4

	attrDefName, attrDefType = 1, 2

	argName, argType, argTypeAttr, argNumberAttr, argTypeListAttr = 1, 3, 4, 5, 6
)

// Function is a parsed FunctionDef.
type Function struct {
	Name       string
	Def        []byte // the FunctionDef
	Inputs     []Arg
	Outputs    []Arg
	Attrs      map[string]string // declared attributes and their types, "list(type)"
	Implements string            // interface whose implementations may replace each other, "" if none
	Counts     []string          // attributes with the repeat count of an argument
	Nodes      [][]byte
	byName     map[string][]byte // nodes, made on demand
}

// Arg is an input or output of a function.
type Arg struct {
	Name string
	Type int32 // 0 if an attribute of the caller decides
	List bool  // several tensors
}

// parseFunction reads a FunctionDef.
func parseFunction(b []byte) *Function {
	fn := &Function{Def: b, Attrs: map[string]string{}}
	for f := range wire.Fields(b) {
		switch f.Num {
		case FunctionSignature:
			fn.parseSignature(f.Bytes)
		case FunctionNode:
			fn.Nodes = append(fn.Nodes, f.Bytes)
		case functionAttr:
			if name, value := message.MapEntry(f.Bytes); name == "api_implements" {
				fn.Implements, _ = message.AttrString(value)
			}
		}
	}
	return fn
}

// parseSignature reads the OpDef that is a function's signature.
func (fn *Function) parseSignature(b []byte) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case SignatureName:
			fn.Name = string(f.Bytes)
		case signatureInput:
			fn.Inputs = append(fn.Inputs, fn.parseArg(f.Bytes))
		case signatureOutput:
			fn.Outputs = append(fn.Outputs, fn.parseArg(f.Bytes))
		case signatureAttr:
			name, _ := message.Find(f.Bytes, attrDefName)
			typ, _ := message.Find(f.Bytes, attrDefType)
			fn.Attrs[string(name.Bytes)] = string(typ.Bytes)
		}
	}
}

// parseArg reads an ArgDef.
func (fn *Function) parseArg(b []byte) Arg {
	var a Arg
	for f := range wire.Fields(b) {
		switch f.Num {
		case argName:
			a.Name = string(f.Bytes)
		case argType:
			a.Type = int32(f.Number)
		case argNumberAttr, argTypeListAttr:
			a.List = a.List || len(f.Bytes) > 0
			if f.Num == argNumberAttr {
				fn.Counts = append(fn.Counts, string(f.Bytes))
			}
		}
	}
	return a
}

// outputTypes returns the type of each output of a function, 0 where the caller
// decides; ok is false if their number is unknown.
func (fn *Function) outputTypes() (types []int32, ok bool) {
	for _, a := range fn.Outputs {
		if a.List {
			return nil, false
		}
		types = append(types, a.Type)
	}
	return types, true
}

// Node returns a node of the body.
func (fn *Function) Node(name string) (Node, bool) {
	if fn.byName == nil {
		fn.byName = make(map[string][]byte, len(fn.Nodes))
		for _, b := range fn.Nodes {
			fn.byName[NameOf(b)] = b
		}
	}
	b, ok := fn.byName[name]
	return ParseNode(b), ok
}

// Input returns the position of an argument, -1 if there is none by that name or if a
// list before it makes the position unknown.
func (fn *Function) Input(name string) int {
	for i, a := range fn.Inputs {
		if a.List {
			return -1
		}
		if a.Name == name {
			return i
		}
	}
	return -1
}

// Returns reports whether the function returns a tensor of its body, or an
// argument.
func (fn *Function) Returns(tensor string) bool {
	for f := range wire.Fields(fn.Def) {
		if f.Num != FunctionRet {
			continue
		}
		if v, _ := message.Find(f.Bytes, 2); string(v.Bytes) == tensor {
			return true
		}
	}
	return false
}
