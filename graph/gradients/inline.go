package gradients

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
)

// A trained model's signature is a call of a function that calls others. TensorFlow
// can differentiate the operations in them only where it sees them. Inlining puts
// copies of a function's nodes in the place of its call:
//
//	call = PartitionedCall[f](a, b)       call/MatMul = MatMul(a, b)
//	y = Relu(call:0)                 -->  y = Relu(call/MatMul:0)
//
// In a function's body, inputs are named "node:output name:index", or by the
// function's argument. In a graph they are "node:number".

// maxDepth limits calls within calls: a recursive function would never end.
const maxDepth = 200

// inliner inlines the calls in a list of nodes.
type inliner struct {
	lib     *library
	nodes   []*tfproto.NodeDef
	results map[ref]string // replacements of a call's outputs
	after   map[string][]string
	err     error
}

// inline returns nodes with all calls replaced, and the refs under which outputs are
// then found.
func (l *library) inline(nodes []*tfproto.NodeDef, outputs []string) ([]*tfproto.NodeDef, []string, error) {
	in := &inliner{lib: l, results: map[ref]string{}, after: map[string][]string{}}
	for _, n := range nodes {
		in.add(n, 0)
	}
	if in.err != nil {
		return nil, nil, in.err
	}
	for _, n := range in.nodes {
		n.Input = in.resolveAll(n.Input)
		if before, ok := previous(n); ok {
			n.Attr[graph.PreviousAttr] = previousAttr(in.resolveAll([]string{before})[0])
		}
	}
	return in.nodes, in.resolveAll(outputs), nil
}

// add adds a node, or the body of the function that it calls.
func (in *inliner) add(n *tfproto.NodeDef, depth int) {
	f := in.lib.callee(n)
	if f == nil {
		in.nodes = append(in.nodes, n)
		return
	}
	if depth > maxDepth && in.err == nil {
		in.err = millrace.Errorf(millrace.ErrModel, "function %s calls itself", millrace.Quote(f.GetSignature().GetName()))
	}
	if in.err != nil {
		return
	}
	var args, controls []string
	for _, input := range n.Input {
		if strings.HasPrefix(input, "^") {
			controls = append(controls, input)
		} else {
			args = append(args, input)
		}
	}
	b, err := in.lib.instantiate(f, n, args)
	if err != nil {
		in.err = err
		return
	}
	for i, r := range b.results {
		in.results[ref{n.Name, i}] = r
	}
	in.after[n.Name] = append(b.controls, controls...)
	for _, inner := range b.nodes {
		if len(inner.Input) == 0 {
			inner.Input = controls
		}
		in.add(inner, depth+1)
	}
}

// resolveAll replaces refs to calls.
func (in *inliner) resolveAll(refs []string) []string {
	var data, controls []string
	seen := map[string]bool{}
	var resolve func(s string)
	resolve = func(s string) {
		r := parseRef(s)
		if r.index >= 0 {
			for to, ok := in.results[r]; ok; to, ok = in.results[r] {
				s = to
				r = parseRef(s)
			}
			data = append(data, s)
			return
		}
		after, called := in.after[r.node]
		switch {
		case seen[s]:
		case called:
			seen[s] = true
			for _, c := range after {
				resolve(c)
			}
		default:
			seen[s] = true
			controls = append(controls, s)
		}
	}
	for _, s := range refs {
		resolve(s)
	}
	return append(data, controls...)
}

// body is a function's nodes in the form of a graph.
type body struct {
	nodes    []*tfproto.NodeDef
	results  []string
	controls []string // control dependencies on the function's side effects
}

// instantiate returns the body of a function with args, which are refs. The names of
// the nodes begin with the call's name and a slash.
func (l *library) instantiate(f *tfproto.FunctionDef, call *tfproto.NodeDef, args []string) (*body, error) {
	sig := f.GetSignature()
	if len(args) != len(sig.GetInputArg()) {
		return nil, millrace.Errorf(millrace.ErrModel, "function %s takes %d arguments and gets %d", millrace.Quote(sig.GetName()), len(sig.GetInputArg()), len(args))
	}
	in := &instance{lib: l, prefix: call.GetName() + "/", args: map[string]string{}, nodes: map[string]*tfproto.NodeDef{}}
	for i, arg := range sig.GetInputArg() {
		in.args[arg.GetName()] = args[i]
	}
	for _, n := range f.GetNodeDef() {
		in.nodes[n.GetName()] = n
	}
	b := &body{}
	for _, n := range f.GetNodeDef() {
		b.nodes = append(b.nodes, in.node(n, call))
	}
	for _, out := range sig.GetOutputArg() {
		b.results = append(b.results, in.ref(f.GetRet()[out.GetName()]))
	}
	for _, name := range sig.GetControlOutput() {
		b.controls = append(b.controls, "^"+in.prefix+f.GetControlRet()[name])
	}
	return b, in.err
}

// instance is one copy of a function's body.
type instance struct {
	lib    *library
	prefix string
	args   map[string]string
	nodes  map[string]*tfproto.NodeDef
	err    error
}

// node copies a node.
func (in *instance) node(n, call *tfproto.NodeDef) *tfproto.NodeDef {
	c := proto.Clone(n).(*tfproto.NodeDef)
	c.Name = in.prefix + c.Name
	for i, input := range c.Input {
		c.Input[i] = in.ref(input)
	}
	delete(c.Attr, "_class") // it names nodes of the function
	if before, ok := previous(c); ok {
		c.Attr[graph.PreviousAttr] = previousAttr(in.ref(before))
	}
	for key, value := range c.Attr {
		if p := value.GetPlaceholder(); p != "" { // the value is an attribute of the function
			c.Attr[key] = call.GetAttr()[p]
		}
	}
	return c
}

// ref converts an input of the function's body.
func (in *instance) ref(s string) string {
	name, control := strings.CutPrefix(s, "^")
	parts := strings.Split(name, ":")
	if arg, ok := in.args[parts[0]]; ok && in.nodes[parts[0]] == nil {
		if control {
			return "^" + parseRef(arg).node
		}
		return arg
	}
	if control {
		return "^" + in.prefix + name
	}
	n := in.nodes[parts[0]]
	if n == nil || len(parts) != 3 {
		in.fail(millrace.Errorf(millrace.ErrModel, "the function has no value %s", millrace.Quote(s)))
		return s
	}
	k, err := strconv.Atoi(parts[2])
	if err == nil {
		k, err = in.lib.outputIndex(n, parts[1], k)
	}
	in.fail(err)
	return ref{in.prefix + parts[0], k}.String()
}

func (in *instance) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}
