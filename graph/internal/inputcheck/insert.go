package inputcheck

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// The argument and the result of the function that checks the elements of a dataset.
const argumentName, resultName = "serialized", "checked"

// Options of [Insert].
type Options struct {
	Limit   int64 // limit of a [bytecheck.Spec]
	Compile bool  // the graph may ask for XLA

	Fed []string // tensors of the graph that signatures feed
}

// Insert returns a serialized GraphDef with a check of the bytes before each parser,
// and a check before each operation that has rules for its arguments. It returns def
// itself if no check is needed. Loops are kept out of constant folding, and requests
// for XLA are removed.
func Insert(def []byte, o Options) ([]byte, error) {
	compiles := !o.Compile && asksForCompiler(def)
	if !compiles && !needed(def) {
		return def, nil
	}
	g := &tfproto.GraphDef{}
	if err := proto.Unmarshal(def, g); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "not a GraphDef: %w", err)
	}
	if compiles {
		dropCompiler(g)
	}
	in := &inserter{graph: g, limit: o.Limit, flow: newFlow(g), limited: map[string]bool{}}
	in.flow.feed(o.Fed)
	keepLoops(g, in.flow)
	err := in.flow.checkVariables()
	if err != nil {
		return nil, err
	}
	if g.Node, err = in.checked(in.body(g.GetNode(), nil), nil); err != nil {
		return nil, err
	}
	for _, f := range g.GetLibrary().GetFunction() {
		if f.NodeDef, err = in.checked(in.body(f.GetNodeDef(), f.GetSignature()), f.GetSignature()); err != nil {
			return nil, err
		}
	}
	if len(in.made) > 0 {
		if g.Library == nil {
			g.Library = &tfproto.FunctionDefLibrary{}
		}
		g.Library.Function = append(g.Library.Function, in.made...)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(g)
}

// inserter adds checks to a graph.
type inserter struct {
	graph *tfproto.GraphDef
	limit int64
	flow  *flow
	made  []*tfproto.FunctionDef // functions for datasets

	limited map[string]bool // functions whose results were checked, see checkResults
}

// body returns nodes with a check before each parser. They are the nodes of a function,
// or of the graph itself if function is nil.
func (in *inserter) body(nodes []*tfproto.NodeDef, function *tfproto.OpDef) []*tfproto.NodeDef {
	names := namesOf(nodes, function)
	for _, n := range slices.Clone(nodes) {
		if len(n.GetInput()) == 0 || strings.HasPrefix(n.GetInput()[0], "^") {
			continue // TensorFlow refuses a parser without inputs
		}
		p, parses := parsers[n.GetOp()]
		j := &checked{parser: p, node: n, function: function, names: names, limit: in.limit}
		switch {
		case takesBytes(n):
			nodes = append(nodes, j.checkBytes(in.limit))
		case writes(n.GetOp()):
			nodes = append(nodes, j.copyInput())
		case !parses:
		case p.dataset:
			nodes = append(nodes, in.mapper(j))
		default:
			nodes = append(nodes, j.nodes()...)
		}
	}
	return nodes
}

// nodes inserts a check before a parser of records.
func (j *checked) nodes() []*tfproto.NodeDef {
	n := j.node
	check := j.check(j.name(checkName), n.GetInput()[0], j.parser.keyInputs(n))
	made := []*tfproto.NodeDef{check}
	if keys := j.parser.keyValues(n); len(keys) > 0 {
		c := constant(j.name(keysName), keys)
		c.Device = n.GetDevice()
		check.Input = append(check.Input, j.ref(c.GetName(), "output"))
		check.Attr["N"] = integer(1)
		made = append(made, c)
	}
	n.Input[0] = j.ref(check.GetName(), "checked")
	return made
}

// check returns the node that checks records.
func (j *checked) check(name, records string, keys []string) *tfproto.NodeDef {
	spec := tfbridge.CheckSpec{Parser: j.node.GetName(), Request: j.parser.request(j.node), RowBytes: j.parser.rowBytes(j.node), Limit: j.limit}
	return &tfproto.NodeDef{
		Name: name, Op: tfbridge.OpCheckExamples, Device: j.node.GetDevice(), Input: append([]string{records}, keys...),
		Attr: map[string]*tfproto.AttrValue{"check": text(spec.Attr()), "N": integer(int64(len(keys)))},
	}
}

// mapper inserts a Map that checks the elements before a parser of a dataset.
func (in *inserter) mapper(j *checked) *tfproto.NodeDef {
	f := j.makeFunction(in.functionName())
	in.made = append(in.made, f)
	n := mapOf(f.GetSignature().GetName(), []tfproto.DataType{tfproto.DataType_DT_STRING},
		&tfproto.AttrValue_ListValue{Shape: []*tfproto.TensorShapeProto{{Dim: []*tfproto.TensorShapeProto_Dim{{Size: -1}}}}})
	n.Name, n.Device, n.Input = j.name(checkName), j.node.GetDevice(), []string{j.node.GetInput()[0]}
	j.node.Input[0] = j.ref(n.GetName(), "handle")
	return n
}

// makeFunction returns the function that checks an element of a dataset.
func (j *checked) makeFunction(name string) *tfproto.FunctionDef {
	check := j.check("check", argumentName, nil)
	f := &tfproto.FunctionDef{
		Signature: &tfproto.OpDef{
			Name:      name,
			InputArg:  []*tfproto.OpDef_ArgDef{{Name: argumentName, Type: tfproto.DataType_DT_STRING}},
			OutputArg: []*tfproto.OpDef_ArgDef{{Name: resultName, Type: tfproto.DataType_DT_STRING}},
		},
		NodeDef: []*tfproto.NodeDef{check},
		Ret:     map[string]string{resultName: "check:checked:0"},
	}
	if keys := j.parser.keyValues(j.node); len(keys) > 0 {
		f.NodeDef = append(f.NodeDef, constant("keys", keys))
		check.Input = append(check.Input, "keys:output:0")
		check.Attr["N"] = integer(1)
	}
	return f
}

// functionName returns a name for a new function.
func (in *inserter) functionName() string {
	for i := len(in.made); ; i++ {
		name := fmt.Sprint(functionName, i)
		same := func(f *tfproto.FunctionDef) bool { return f.GetSignature().GetName() == name }
		if !slices.ContainsFunc(in.graph.GetLibrary().GetFunction(), same) && !slices.ContainsFunc(in.made, same) {
			return name
		}
	}
}

// checked returns nodes with a check before each operation that has rules for its
// arguments, unless the graph proves that they hold.
func (in *inserter) checked(nodes []*tfproto.NodeDef, function *tfproto.OpDef) ([]*tfproto.NodeDef, error) {
	names := namesOf(nodes, function)
	for _, n := range slices.Clone(nodes) {
		if err := in.checkExport(n, function); err != nil {
			return nil, err
		}
		rules := argcheck.Of(n.GetOp())
		if len(rules) == 0 && !lists[n.GetOp()] && !batches[n.GetOp()] && n.GetOp() != generatorOp {
			continue
		}
		c := &check{checked: checked{node: n, function: function, names: names}, flow: in.flow}
		made, err := in.before(c, rules)
		if err != nil {
			return nil, err
		}
		in.flow.note(function.GetName(), made)
		nodes = append(nodes, made...)
	}
	return nodes, nil
}

// before returns the nodes of the checks before a node.
func (in *inserter) before(c *check, rules []argcheck.Rule) ([]*tfproto.NodeDef, error) {
	if lists[c.node.GetOp()] {
		return c.ensureLists()
	}
	if err := c.keep(rules); err != nil {
		return nil, err
	}
	if err := c.keepState(); err != nil {
		return nil, err
	}
	if err := c.keepRows(); err != nil {
		return nil, err
	}
	if err := c.keepDims(); err != nil {
		return nil, err
	}
	made, err := c.make()
	if err != nil {
		return nil, err
	}
	made = append(made, c.limited...)
	if c.hides {
		made = append(made, c.hideShape(0))
	}
	in.checkResults(c.node)
	return append(made, in.checkBatches(c)...), nil
}

// checkExport refuses a node that exports a table, unless the table is known to have
// the node's dtypes. The kernel does not check them.
func (in *inserter) checkExport(n *tfproto.NodeDef, function *tfproto.OpDef) error {
	if !strings.HasPrefix(n.GetOp(), "LookupTableExport") || len(dataInputs(n)) == 0 {
		return nil
	}
	want := tableTypes{n.GetAttr()["Tkeys"].GetType(), n.GetAttr()["Tvalues"].GetType()}
	if has, known := in.flow.table(function.GetName(), n.GetInput()[0], 0); !known || has != want && has != uncalled {
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) takes a table from %s to %s, and the graph does not show that its input is one",
			millrace.Quote(n.GetName()), n.GetOp(), dtype.DataType(want.keys), dtype.DataType(want.values))
	}
	return nil
}
