package inputcheck

import (
	"slices"
	"strings"

	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"

	"millrace/dtype"
)

// flow finds where the inputs of a graph's nodes come from.
type flow struct {
	bodies map[string]map[string]*tfproto.NodeDef // nodes by function; "" is the graph itself
	args   map[string]map[string]int              // positions of each function's arguments
	calls  map[string][]call                      // uses of each function
	known  map[argument]answer                    // results for arguments
	ranks  map[string]int                         // results for tensors; see rank
	fixed  map[argument]bool                      // see neverConstant
}

// argument is one argument of a function.
type argument struct {
	function string
	i        int
}

// answer is the dtype of a variable, if it is known.
type answer struct {
	dt    tfproto.DataType
	known bool
}

// call is a use of a function.
type call struct {
	caller string
	inputs []string // the arguments; nil if TensorFlow decides
}

// maxFlowDepth is the longest path of a handle through identities and calls.
const maxFlowDepth = 64

// newFlow reads a graph.
func newFlow(g *tfproto.GraphDef) *flow {
	f := &flow{bodies: map[string]map[string]*tfproto.NodeDef{}, args: map[string]map[string]int{},
		calls: map[string][]call{}, known: map[argument]answer{}, ranks: map[string]int{}, fixed: map[argument]bool{}}
	f.add("", g.GetNode())
	for _, fn := range g.GetLibrary().GetFunction() {
		name := fn.GetSignature().GetName()
		f.add(name, fn.GetNodeDef())
		f.args[name] = map[string]int{}
		for i, a := range fn.GetSignature().GetInputArg() {
			if a.GetNumberAttr() != "" || a.GetTypeListAttr() != "" {
				break // the positions of the following arguments are unknown
			}
			f.args[name][a.GetName()] = i
		}
	}
	for _, gradient := range g.GetLibrary().GetGradient() {
		f.calls[gradient.GetGradientFunc()] = append(f.calls[gradient.GetGradientFunc()], call{})
	}
	return f
}

// add adds the nodes of a function.
func (f *flow) add(body string, nodes []*tfproto.NodeDef) {
	byName := make(map[string]*tfproto.NodeDef, len(nodes))
	f.bodies[body] = byName
	for _, n := range nodes {
		byName[n.GetName()] = n
		f.calls[n.GetOp()] = append(f.calls[n.GetOp()], call{body, dataInputs(n)})
		for _, a := range n.GetAttr() {
			for _, fn := range append(slices.Clone(a.GetList().GetFunc()), a.GetFunc()) {
				if name := fn.GetName(); name != "" {
					f.calls[name] = append(f.calls[name], call{body, argumentsOf(n)})
				}
			}
		}
	}
}

// argumentsOf returns the inputs that a node passes to its functions, nil if that is
// unknown.
func argumentsOf(n *tfproto.NodeDef) []string {
	inputs := dataInputs(n)
	switch n.GetOp() {
	case "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile":
		return inputs
	case "If", "StatelessIf", "Case", "StatelessCase":
		return inputs[min(1, len(inputs)):]
	}
	return nil
}

// dataInputs returns the inputs of a node that are tensors.
func dataInputs(n *tfproto.NodeDef) []string {
	inputs := n.GetInput()
	if i := slices.IndexFunc(inputs, func(in string) bool { return strings.HasPrefix(in, "^") }); i >= 0 {
		inputs = inputs[:i]
	}
	return inputs
}

// variable returns the dtype of the variable whose handle a tensor is. known is false
// if the tensor may be one of several variables of different dtypes, or something else.
func (f *flow) variable(body, tensor string, depth int) (dt tfproto.DataType, known bool) {
	name, _, _ := strings.Cut(tensor, ":")
	if n := f.bodies[body][name]; n != nil {
		switch {
		case n.GetOp() == "VarHandleOp":
			return n.GetAttr()["dtype"].GetType(), n.GetAttr()["dtype"].GetPlaceholder() == ""
		case n.GetOp() == "Identity" && depth < maxFlowDepth && len(dataInputs(n)) == 1:
			return f.variable(body, n.GetInput()[0], depth+1)
		}
		return 0, false
	}
	i, ok := f.args[body][name]
	if !ok || depth >= maxFlowDepth {
		return 0, false
	}
	a := argument{body, i}
	if _, seen := f.known[a]; !seen {
		f.known[a] = answer{} // a function may call itself
		f.known[a] = f.passed(a, depth)
	}
	return f.known[a].dt, f.known[a].known
}

// passed returns the dtype of the variables that all callers of a function pass.
func (f *flow) passed(a argument, depth int) answer {
	var all answer
	for _, c := range f.calls[a.function] {
		if a.i >= len(c.inputs) {
			return answer{}
		}
		has, ok := f.variable(c.caller, c.inputs[a.i], depth+1)
		if !ok || all.known && has != all.dt {
			return answer{}
		}
		all = answer{has, true}
	}
	return all
}

// table returns the dtypes of the keys and the values of the table whose handle a
// tensor is. known is false if the tensor may be one of several tables of different
// dtypes, or something else.
func (f *flow) table(body, tensor string, depth int) (of tableTypes, known bool) {
	name, _, _ := strings.Cut(tensor, ":")
	if n := f.bodies[body][name]; n != nil {
		key, value := n.GetAttr()["key_dtype"], n.GetAttr()["value_dtype"]
		switch {
		case key != nil && value != nil && strings.Contains(n.GetOp(), "HashTable"):
			return tableTypes{key.GetType(), value.GetType()}, key.GetPlaceholder()+value.GetPlaceholder() == ""
		case n.GetOp() == "Identity" && depth < maxFlowDepth && len(dataInputs(n)) == 1:
			return f.table(body, n.GetInput()[0], depth+1)
		}
		return tableTypes{}, false
	}
	i, ok := f.args[body][name]
	if !ok || depth >= maxFlowDepth {
		return tableTypes{}, false
	}
	of = uncalled
	for _, c := range f.calls[body] {
		if i >= len(c.inputs) {
			return tableTypes{}, false
		}
		has, ok := f.table(c.caller, c.inputs[i], depth+1)
		if !ok || of != uncalled && has != uncalled && has != of {
			return tableTypes{}, false
		}
		if has != uncalled {
			of = has
		}
	}
	return of, true
}

// tableTypes are the dtypes of a table.
type tableTypes struct{ keys, values tfproto.DataType }

// uncalled represents the dtypes of a table that is an argument of a function without
// calls.
var uncalled tableTypes

// constant returns the value of a tensor of a function that is a constant. Tensors of
// the graph itself may be fed.
func (f *flow) constant(body, tensor string) (argcheck.Arg, bool) {
	if body == "" {
		return argcheck.Arg{}, false
	}
	name, _, _ := strings.Cut(tensor, ":")
	n := f.bodies[body][name]
	if n.GetOp() != "Const" {
		return argcheck.Arg{}, false
	}
	value := n.GetAttr()["value"].GetTensor()
	a := argcheck.Arg{DType: dtype.DataType(value.GetDtype()), Data: value.GetTensorContent()}
	for _, d := range value.GetTensorShape().GetDim() {
		a.Shape = append(a.Shape, d.GetSize())
	}
	if len(a.Data) == 0 {
		return a, spread(&a, value)
	}
	return a, true
}

// spread gives a constant of integers its elements: the last value in the message stands for
// all after it. It returns false for other types and for large constants.
func spread(a *argcheck.Arg, value *tfproto.TensorProto) bool {
	n, err := dtype.Elements(a.Shape)
	if err != nil || n > maxSpread {
		return false
	}
	switch a.DType {
	case dtype.Int32:
		a.Data = argcheck.Integers(filled(value.GetIntVal(), int(n)), nil)
	case dtype.Int64:
		a.Data = argcheck.Integers(nil, filled(value.GetInt64Val(), int(n)))
	default:
		return n == 0
	}
	return true
}

// maxSpread is the largest number of elements of a constant that spread makes.
const maxSpread = 1 << 12

// filled returns n values: those given, then the last of them again.
func filled[T int32 | int64](values []T, n int) []T {
	all := make([]T, n)
	copied := copy(all, values)
	for i := copied; i < n && copied > 0; i++ {
		all[i] = values[copied-1]
	}
	return all
}
