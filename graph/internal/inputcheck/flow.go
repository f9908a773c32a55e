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
	known  map[string]answer                      // results for handles; see variable
	ranks  map[string]int                         // results for tensors; see rank
	fixed  map[argument]bool                      // see neverConstant
	bounds *bounds                                // see mostDims, mostElements and contentsOf
	fed    map[string]bool                        // nodes of the graph whose outputs signatures feed

	returned  map[string][]tfproto.DataType // dtypes of the results of each function; DT_INVALID: an attribute says it
	results   map[string][]string           // the tensors that each function returns, in order
	scatters  bool                          // an operation updates rows of a variable
	generates bool                          // an operation reads the state of a random generator
}

// generatorOp reads and advances the state of a random generator.
const generatorOp = "RngReadAndSkip"

// scatters are operations that update rows of a variable.
var scatters = words(`ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterSub ResourceScatterUpdate`)

// answer describes the variables that a handle may refer to.
type answer struct {
	known    bool // all of them have dtype dt
	dt       tfproto.DataType
	elements int64 // number of elements that they are declared with; -1: unknown, or not the same for all
	row      int64 // number of elements of a row; -1: unknown, or not the same for all
	rows     bool  // one of them has rows of a known size
	some     bool  // one of them may be the state of a generator
	uncalled bool  // it is an argument of a function that nothing calls
}

// argument is one argument of a function.
type argument struct {
	function string
	i        int
}

// call is a use of a function.
type call struct {
	caller  string
	inputs  []string // the arguments, "" for one that TensorFlow decides; nil if it decides all
	body    string   // the function whose results are the arguments of the next iteration of a loop
	dataset string   // the dataset whose elements are the arguments that TensorFlow decides
}

// nodeOf returns the node in the name of a tensor.
func nodeOf(name string) string {
	node, _, _ := strings.Cut(name, ":")
	return node
}

// maxFlowDepth is the longest path of a handle through identities and calls.
const maxFlowDepth = 64

// newFlow reads a graph.
func newFlow(g *tfproto.GraphDef) *flow {
	f := &flow{bodies: map[string]map[string]*tfproto.NodeDef{}, args: map[string]map[string]int{},
		calls: map[string][]call{}, known: map[string]answer{}, ranks: map[string]int{}, fixed: map[argument]bool{},
		fed: map[string]bool{}, results: map[string][]string{}, returned: map[string][]tfproto.DataType{}}
	f.bounds = &bounds{known: map[boundKey]*bound{}, equate: f.equation}
	for _, fn := range g.GetLibrary().GetFunction() {
		for _, out := range fn.GetSignature().GetOutputArg() {
			f.returned[fn.GetSignature().GetName()] = append(f.returned[fn.GetSignature().GetName()], out.GetType())
			f.results[fn.GetSignature().GetName()] = append(f.results[fn.GetSignature().GetName()], fn.GetRet()[out.GetName()])
		}
		name := fn.GetSignature().GetName()
		f.bodies[name] = byName(fn.GetNodeDef())
		f.args[name] = map[string]int{}
		for i, a := range fn.GetSignature().GetInputArg() {
			if a.GetNumberAttr() != "" || a.GetTypeListAttr() != "" {
				break // the positions of the following arguments are unknown
			}
			f.args[name][a.GetName()] = i
		}
	}
	f.add("", g.GetNode())
	for _, fn := range g.GetLibrary().GetFunction() {
		f.add(fn.GetSignature().GetName(), fn.GetNodeDef())
	}
	for _, gradient := range g.GetLibrary().GetGradient() {
		f.calls[gradient.GetGradientFunc()] = append(f.calls[gradient.GetGradientFunc()], call{})
	}
	return f
}

// add adds the nodes of a function.
func (f *flow) add(body string, nodes []*tfproto.NodeDef) {
	f.bodies[body] = byName(nodes)
	for _, n := range nodes {
		f.generates = f.generates || n.GetOp() == generatorOp
		f.scatters = f.scatters || scatters[n.GetOp()]
		f.calls[n.GetOp()] = append(f.calls[n.GetOp()], call{caller: body, inputs: dataInputs(n)})
		for _, a := range n.GetAttr() {
			for _, fn := range append(slices.Clone(a.GetList().GetFunc()), a.GetFunc()) {
				if name := fn.GetName(); name != "" {
					f.calls[name] = append(f.calls[name], f.callOf(body, n, name))
				}
			}
		}
	}
}

// note records nodes that are added to a function.
func (f *flow) note(body string, nodes []*tfproto.NodeDef) {
	if f.bodies[body] == nil {
		f.bodies[body] = map[string]*tfproto.NodeDef{}
	}
	for _, n := range nodes {
		f.bodies[body][n.GetName()] = n
	}
}

// byName returns nodes by their names.
func byName(nodes []*tfproto.NodeDef) map[string]*tfproto.NodeDef {
	all := make(map[string]*tfproto.NodeDef, len(nodes))
	for _, n := range nodes {
		all[n.GetName()] = n
	}
	return all
}

// perElement are datasets whose function takes the elements of their first input, and then other
// inputs.
var perElement = words(`FilterDataset FlatMapDataset InterleaveDataset LegacyParallelInterleaveDatasetV2 MapAndBatchDataset MapDataset ParallelFilterDataset ParallelInterleaveDataset
	ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 TakeWhileDataset`)

// callOf returns the call of a function that is an attribute of a node.
func (f *flow) callOf(body string, n *tfproto.NodeDef, function string) call {
	inputs := dataInputs(n)
	switch n.GetOp() {
	case "PartitionedCall", "StatefulPartitionedCall":
		return call{caller: body, inputs: inputs}
	case "While", "StatelessWhile":
		return call{caller: body, inputs: inputs, body: n.GetAttr()["body"].GetFunc().GetName()}
	case "If", "StatelessIf", "Case", "StatelessCase":
		return call{caller: body, inputs: inputs[min(1, len(inputs)):]}
	}
	// The function of a dataset takes the components of an element, then other inputs.
	var from string
	if perElement[n.GetOp()] && len(inputs) > 0 {
		from = inputs[0]
	}
	given := len(n.GetAttr()["Targuments"].GetList().GetType())
	first := len(f.args[function]) - given
	if !strings.HasSuffix(n.GetOp(), "Dataset") && !strings.HasSuffix(n.GetOp(), "DatasetV2") || strings.HasPrefix(n.GetOp(), "Scan") || strings.HasPrefix(n.GetOp(), "Reduce") ||
		first < 0 || given >= len(inputs) {
		return call{caller: body}
	}
	return call{caller: body, inputs: append(make([]string, first), inputs[1:1+given]...), dataset: from}
}

// keeps reports whether each iteration of a loop passes argument i on as it is.
func (f *flow) keeps(body string, i int) bool {
	if i >= len(f.results[body]) {
		return false
	}
	from := nodeOf(f.results[body][i])
	for range maxFlowDepth {
		n := f.bodies[body][from]
		if n.GetOp() != "Identity" || len(dataInputs(n)) != 1 {
			break
		}
		from = nodeOf(n.GetInput()[0])
	}
	at, isArgument := f.args[body][from]
	return isArgument && at == i && f.bodies[body][from] == nil
}

// passed returns the tensors that a call passes as argument i of its function, in this call and, in a loop, in
// the next. ok is false if TensorFlow decides.
func (c call) passed(f *flow, i int) (tensors [][2]string, ok bool) {
	if i >= len(c.inputs) || c.inputs[i] == "" {
		return nil, false
	}
	tensors = [][2]string{{c.caller, c.inputs[i]}}
	if c.body == "" || f.keeps(c.body, i) {
		return tensors, true
	}
	if i >= len(f.results[c.body]) {
		return nil, false
	}
	return append(tensors, [2]string{c.body, f.results[c.body][i]}), true
}

// dataInputs returns the inputs of a node that are tensors.
func dataInputs(n *tfproto.NodeDef) []string {
	inputs := n.GetInput()
	if i := slices.IndexFunc(inputs, func(in string) bool { return strings.HasPrefix(in, "^") }); i >= 0 {
		inputs = inputs[:i]
	}
	return inputs
}

// table returns the dtypes of the keys and the values of the table whose handle a
// tensor is. known is false if the tensor may be one of several tables of different
// dtypes, or something else.
func (f *flow) table(body, tensor string, depth int) (of tableTypes, known bool) {
	name := nodeOf(tensor)
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
		if tensors, ok := c.passed(f, i); !ok || len(tensors) > 1 {
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
	name := nodeOf(tensor)
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
