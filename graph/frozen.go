package graph

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph/internal/inputcheck"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

/*
A signature as a part of other graphs

The question: a program wants to call a model's signature within a graph, such as the function of a
dataset. A model has a session with variables and tables, and another session has neither.

The answer: constants take the place of the variables, as in [Model.Freeze]. A table cannot be a
constant: the graph around gets a table with the same entries, which is filled before anybody has
the handle, and the function captures the handle.

	model's session                    other graph
	variables  ── values ──────────►   constants
	tables     ── entries ─────────►   HashTableV2, InitializeTableV2 ── handle ── captured
	signature  ── nodes ───────────►   nodes in the function
	           ── functions ───────►   library, with new names

The functions get new names, because two models may have different functions of one name. A
PartitionedCall becomes an operation whose type is the function: in the function of a dataset,
TensorFlow has no rendezvous for the first kind, and the second kind needs none.
*/

// FrozenSignature is a signature of a model that [FrozenSignature.AddTo] adds to graphs. It needs
// the model no more. It is read-only and safe for concurrent use.
type FrozenSignature struct {
	def     []byte
	inputs  []string // keys of the inputs that outputs depend on, sorted
	outputs []string // keys of the outputs, sorted
	sig     tfbridge.Signature
	tables  []frozenTable
	limit   int64
}

// frozenTable is the content of a table. Entries are sorted by key, so that the same model gives the
// same graph.
type frozenTable struct {
	node         string
	keys, values frozenColumn
}

// frozenColumn is a tensor that belongs to no session: the bytes of each element, in order.
type frozenColumn struct {
	dtype    tfbridge.DataType
	shape    []int64
	elements [][]byte // along the first axis
}

// FreezeSignature returns a signature with the present values of the variables and entries of the
// tables. An empty key means [DefaultSignature]. decodeLimit is [ModelOptions.DecodeLimit]. outputs
// are the keys of the outputs to compute; none means all.
//
// A signature that changes a variable, or needs something else that is made at load, is an error
// of class ErrModel that names the operation. FreezeSignature may run concurrently with other
// calls. It adds operations to the graph.
func (m *Model) FreezeSignature(ctx context.Context, key string, decodeLimit int64, outputs ...string) (*FrozenSignature, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	key = cmp.Or(key, DefaultSignature)
	sig, ok := m.Signatures()[key]
	if !ok {
		return nil, m.signatureErrorf(key, "freeze: there is no such signature")
	}
	f := &FrozenSignature{sig: sig, outputs: slices.Sorted(slices.Values(outputs)), limit: decodeLimit}
	if len(outputs) == 0 {
		f.outputs = slices.Sorted(maps.Keys(sig.Outputs))
	}
	var names []string
	for _, name := range f.outputs {
		info, ok := sig.Outputs[name]
		if !ok {
			return nil, m.signatureErrorf(key, "freeze: there is no output %s", millrace.Quote(name))
		}
		names = append(names, info.Name)
	}
	var tables []*tfproto.NodeDef
	var err error
	if f.def, tables, err = m.freeze(ctx, names, isTable); err != nil {
		return nil, m.freezeError(key, err)
	}
	if f.tables, err = m.entries(ctx, tables); err != nil {
		return nil, m.freezeError(key, err)
	}
	if err := f.findInputs(); err != nil {
		return nil, m.freezeError(key, err)
	}
	return f, nil
}

// freezeError returns the error about a signature that cannot be frozen.
func (m *Model) freezeError(key string, err error) error {
	e := &millrace.Error{Class: millrace.ErrModel, Op: "freeze", File: m.path, Signature: key, Record: -1, Offset: -1, Err: err}
	if known, ok := err.(*millrace.Error); ok {
		e.Class = known.Class
	}
	return e
}

// isTable reports whether a node makes a table whose entries are set once.
func isTable(n *tfproto.NodeDef) bool { return n.Op == "HashTableV2" }

// entries returns the entries of tables.
func (m *Model) entries(ctx context.Context, tables []*tfproto.NodeDef) (all []frozenTable, err error) {
	if len(tables) == 0 {
		return nil, nil
	}
	s := NewScopeWithGraph(m.graph).SubScope("freeze_tables")
	var fetches []tfbridge.Output
	for _, n := range tables {
		handle, err := m.Op(n.Name, 0)
		if err != nil {
			return nil, err
		}
		both := s.Op("LookupTableExportV2", map[string]any{
			"Tkeys": tfbridge.DataType(n.Attr["key_dtype"].GetType()), "Tvalues": tfbridge.DataType(n.Attr["value_dtype"].GetType()),
		}, handle)
		if s.Err() != nil {
			return nil, s.Err()
		}
		fetches = append(fetches, both[0], both[1])
	}
	values, err := m.session.RunContext(ctx, nil, fetches, nil)
	if err != nil {
		return nil, err
	}
	for i, n := range tables {
		t := frozenTable{node: n.Name}
		var keysErr, valuesErr error
		t.keys, keysErr = columnOf(values[2*i])
		t.values, valuesErr = columnOf(values[2*i+1])
		t.sort()
		err, all = cmp.Or(err, keysErr, valuesErr), append(all, t)
	}
	for _, v := range values {
		v.Close()
	}
	return all, err
}

// columnOf copies a tensor of at least one axis.
func columnOf(t *tfbridge.Tensor) (c frozenColumn, err error) {
	c.dtype, c.shape = t.DataType(), t.Shape()
	if c.dtype == tfbridge.String {
		all, err := t.Strings()
		for _, v := range all {
			c.elements = append(c.elements, []byte(v))
		}
		return c, err
	}
	raw, err := t.Bytes()
	if err != nil || c.shape[0] == 0 {
		return c, err
	}
	for each := range slices.Chunk(bytes.Clone(raw), len(raw)/int(c.shape[0])) {
		c.elements = append(c.elements, each)
	}
	return c, nil
}

// sort sorts the entries by key.
func (t *frozenTable) sort() {
	if len(t.keys.elements) != len(t.values.elements) {
		return // values of several strings: the entries keep their order
	}
	order := make([]int, len(t.keys.elements))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(t.keys.elements[a], t.keys.elements[b]) })
	for _, c := range []*frozenColumn{&t.keys, &t.values} {
		sorted := make([][]byte, len(order))
		for to, from := range order {
			sorted[to] = c.elements[from]
		}
		c.elements = sorted
	}
}

// add adds the column as a constant.
func (c frozenColumn) add(s *Scope) tfbridge.Output {
	var t *tfbridge.Tensor
	var err error
	if c.dtype == tfbridge.String {
		t, err = tfbridge.NewStringTensor(c.shape, c.elements)
	} else {
		t, err = tfbridge.NewTensorFromBytes(c.dtype, c.shape, slices.Concat(c.elements...))
	}
	if err != nil {
		s.UpdateErr("entries of a table", err)
		return tfbridge.Output{}
	}
	defer t.Close()
	return s.Const(t)
}

// findInputs finds the inputs that the outputs depend on.
func (f *FrozenSignature) findInputs() error {
	g, err := parseGraphDef(f.def)
	if err != nil {
		return err
	}
	nodes := map[string]bool{}
	for _, n := range g.Node {
		nodes[n.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(f.sig.Inputs)) {
		if nodes[nodeOf(f.sig.Inputs[name].Name)] {
			f.inputs = append(f.inputs, name)
		}
	}
	return nil
}

// Inputs returns the keys of the inputs that a call takes, sorted. Inputs that no output depends on
// are not among them.
func (f *FrozenSignature) Inputs() []string { return slices.Clone(f.inputs) }

// Outputs returns the keys of the outputs, sorted.
func (f *FrozenSignature) Outputs() []string { return slices.Clone(f.outputs) }

// AddedSignature is a signature in a graph, where [AddedSignature.Call] calls it.
type AddedSignature struct {
	*FrozenSignature
	def     []byte // without the nodes that calls replace
	handles []tfbridge.Output
}

// AddTo adds the functions and the tables of the signature to the graph of s, once for any number
// of calls. With checked, operations that parse bytes check them first, as in a loaded model; such a
// graph runs in this process only. A failure sticks to the scope.
func (f *FrozenSignature) AddTo(s *Scope, checked bool) *AddedSignature {
	added := &AddedSignature{FrozenSignature: f}
	if s.Err() != nil {
		return added
	}
	g, err := f.prepared(checked)
	if err == nil {
		err = addLibrary(s, g)
	}
	if err == nil {
		added.def, err = f.withoutEnds(g)
	}
	s.UpdateErr("model", err)
	for _, t := range f.tables {
		added.handles = append(added.handles, t.add(s))
	}
	return added
}

// prepared returns the GraphDef in the form of the essay above.
func (f *FrozenSignature) prepared(checked bool) (*tfproto.GraphDef, error) {
	def := f.def
	if checked {
		var fed []string
		for _, in := range f.sig.Inputs {
			fed = append(fed, in.Name)
		}
		var err error
		if def, err = inputcheck.Insert(def, inputcheck.Options{Limit: f.limit, Fed: fed}); err != nil {
			return nil, err
		}
	}
	g, err := parseGraphDef(def)
	if err != nil {
		return nil, err
	}
	prefix := fmt.Sprintf("__millrace_%.12x_", sha256.Sum256(def))
	renameFunctions(g, func(name string) string { return prefix + name })
	callDirectly(g)
	return g, nil
}

// addLibrary adds the functions of a GraphDef to the graph of s.
func addLibrary(s *Scope, g *tfproto.GraphDef) error {
	if len(g.GetLibrary().GetFunction()) == 0 {
		return nil
	}
	def, err := proto.Marshal(&tfproto.GraphDef{Library: g.Library, Versions: g.Versions})
	if err != nil {
		return err
	}
	other := tfbridge.NewGraph()
	defer other.Close()
	if err := other.Import(def, ""); err != nil {
		return err
	}
	library, err := other.Functions()
	s.AddFunctions(library...)
	for _, one := range library {
		one.Close()
	}
	return err
}

// withoutEnds returns a serialized GraphDef without the nodes of inputs and tables.
func (f *FrozenSignature) withoutEnds(g *tfproto.GraphDef) ([]byte, error) {
	ends := map[string]bool{}
	for _, name := range f.inputs {
		ends[nodeOf(f.sig.Inputs[name].Name)] = true
	}
	for _, t := range f.tables {
		ends[t.node] = true
	}
	g.Node = slices.DeleteFunc(g.Node, func(n *tfproto.NodeDef) bool {
		return ends[n.Name] && (isTable(n) || n.Op == "Placeholder" || n.Op == "PlaceholderWithDefault")
	})
	return proto.MarshalOptions{Deterministic: true}.Marshal(g)
}

// Call adds a call of the signature: its nodes. inputs are in the order of
// [FrozenSignature.Inputs], and so are the results in the order of [FrozenSignature.Outputs]. The scope
// may belong to a function in the graph that the signature was added to.
func (a *AddedSignature) Call(s *Scope, inputs ...tfbridge.Output) []tfbridge.Output {
	results := make([]tfbridge.Output, len(a.outputs))
	if len(inputs) != len(a.inputs) {
		s.fail("model", "%d inputs for %d", len(inputs), len(a.inputs))
	}
	if s.Err() != nil {
		return results
	}
	o := tfbridge.GraphImportOptions{Prefix: s.Prefix() + "model", UniquifyPrefix: true}
	given := map[tfbridge.OutputName]tfbridge.Output{}
	use := func(end tfbridge.OutputName, x tfbridge.Output) {
		if local, ok := s.local("model", x); ok {
			given[end] = local
			o.AddInputMapping(end.Op, end.Index, local)
		}
	}
	for i, name := range a.inputs {
		use(endOf(a.sig.Inputs[name].Name), inputs[i])
	}
	for i, t := range a.tables {
		use(tfbridge.OutputName{Op: t.node}, a.handles[i])
	}
	for _, name := range a.outputs {
		if end := endOf(a.sig.Outputs[name].Name); given[end].Op == nil {
			o.ReturnOutputs = append(o.ReturnOutputs, end)
		}
	}
	if s.Err() != nil {
		return results
	}
	r, err := s.graph.ImportWithResults(a.def, o)
	if err != nil {
		s.UpdateErr("model", err)
		return results
	}
	made := r.Outputs
	for i, name := range a.outputs {
		if x := given[endOf(a.sig.Outputs[name].Name)]; x.Op != nil {
			results[i] = x
			continue
		}
		results[i], made = made[0], made[1:]
	}
	return results
}

// endOf splits the name of a tensor into its node and its number.
func endOf(name string) tfbridge.OutputName {
	end := tfbridge.OutputName{Op: nodeOf(name)}
	if _, number, ok := strings.Cut(name, ":"); ok {
		end.Index, _ = strconv.Atoi(number) // the model was checked
	}
	return end
}

// callDirectly makes an operation of the type of the function of each PartitionedCall.
func callDirectly(g *tfproto.GraphDef) {
	functions := map[string]*tfproto.OpDef{}
	for _, fn := range g.GetLibrary().GetFunction() {
		functions[fn.GetSignature().GetName()] = fn.GetSignature()
	}
	rewrite := func(nodes []*tfproto.NodeDef) (outputs map[string]string) {
		outputs = map[string]string{}
		for _, n := range nodes {
			callee := functions[n.Attr["f"].GetFunc().GetName()]
			if callee == nil || n.Op != "PartitionedCall" && n.Op != "StatefulPartitionedCall" {
				continue
			}
			n.Op, n.Attr = callee.GetName(), n.Attr["f"].GetFunc().GetAttr()
			for i, out := range callee.GetOutputArg() {
				outputs[fmt.Sprintf("%s:output:%d", n.Name, i)] = n.Name + ":" + out.GetName() + ":0"
			}
		}
		return outputs
	}
	rewrite(g.Node) // here the numbers of outputs stay
	for _, fn := range g.GetLibrary().GetFunction() {
		outputs := rewrite(fn.NodeDef)
		for _, n := range fn.NodeDef {
			for i, in := range n.Input {
				n.Input[i] = cmp.Or(outputs[in], in)
			}
		}
		for name, from := range fn.Ret {
			fn.Ret[name] = cmp.Or(outputs[from], from)
		}
	}
}

// renameFunctions gives the functions of a GraphDef other names.
func renameFunctions(g *tfproto.GraphDef, to func(string) string) {
	own := map[string]bool{}
	for _, fn := range g.GetLibrary().GetFunction() {
		own[fn.GetSignature().GetName()] = true
	}
	rename := func(name *string) {
		if own[*name] {
			*name = to(*name)
		}
	}
	each := func(nodes []*tfproto.NodeDef) {
		for _, n := range nodes {
			rename(&n.Op)
			for _, a := range n.Attr {
				if one := a.GetFunc(); one != nil {
					rename(&one.Name)
				}
				for _, one := range a.GetList().GetFunc() {
					rename(&one.Name)
				}
			}
		}
	}
	each(g.Node)
	for _, fn := range g.GetLibrary().GetFunction() {
		each(fn.NodeDef)
		rename(&fn.Signature.Name)
	}
	for _, d := range g.GetLibrary().GetGradient() {
		rename(&d.FunctionName)
		rename(&d.GradientFunc)
	}
}

// add adds a table with the entries, and returns its handle.
func (t *frozenTable) add(s *Scope) tfbridge.Output {
	table := s.Op1("HashTableV2", map[string]any{"key_dtype": t.keys.dtype, "value_dtype": t.values.dtype})
	keys, values := t.keys.add(s), t.values.add(s)
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	fill := s.AddOperation(tfbridge.OpSpec{Type: "InitializeTableV2", Input: []tfbridge.Input{table, keys, values}})
	return Identity(s.WithControlDependencies(fill), table)
}
