package policy

import (
	"slices"
	"strconv"
	"strings"

	"millrace/savedmodel/metagraph"
)

// originKind is the kind of source of a string in a model.
type originKind int

const (
	originUnknown    originKind = iota // computed, or not the same for all callers
	originCheckpoint                   // TensorFlow feeds the path of the model's variables
	originAsset                        // TensorFlow feeds the path of an asset
	originConst                        // the values are written in the model
	originNever                        // an argument of a function that is never used: it has no value
)

// origin is the source of a string.
type origin struct {
	kind   originKind
	values []string // values of a constant
}

// tracer finds the sources of the strings in a graph.
type tracer struct {
	*callGraph
	callers    map[string][]call // calls of each function
	fed        map[string]bool   // tensors that a signature feeds
	traced     map[argument]origin
	signatures *reach // nodes that the signatures run
}

// passes are the operations whose outputs are their inputs, unchanged.
var passes = map[string]bool{"Identity": true, "IdentityN": true, "StopGradient": true, "Snapshot": true, "EnsureShape": true}

// comesFrom finds the source of a node's input; fn is the function that contains the
// node, nil for the main graph.
func (t *tracer) comesFrom(fn *metagraph.Function, input string) origin {
	return t.trace(fn, input, 0)
}

// trace follows an input back through the operations in passes.
func (t *tracer) trace(fn *metagraph.Function, input string, depth int) origin {
	if input == "" || depth > MaxTraceDepth {
		return origin{}
	}
	if fn != nil {
		name, rest, isNode := strings.Cut(input, ":")
		if i := fn.Input(name); i >= 0 && (!isNode || rest == "0") {
			return t.traceArgument(fn, i, depth)
		}
	} else if o, known := t.traceFed(metagraph.ParseRef(input)); known {
		return o
	}
	n, port, ok := t.producer(fn, input)
	if !ok {
		return origin{}
	}
	return t.traceNode(fn, n, port, depth)
}

// traceFed returns the origin of a tensor of the main graph that gets its value from
// outside the graph; known is false for other tensors.
func (t *tracer) traceFed(ref metagraph.Ref) (o origin, known bool) {
	tensor := ref.String()
	switch {
	case ref.Control || t.fed[tensor]:
		return origin{}, true
	case t.m.FilenameTensor != "" && tensor == metagraph.ParseRef(t.m.FilenameTensor).String():
		return t.traceFilename(ref), true
	case t.m.IsAsset(tensor):
		// A signature does not feed the path. It uses the default value in the graph,
		// and a placeholder has none.
		n, _ := t.m.Node(ref.Node)
		if n.Op != "Placeholder" && t.signatures.nodes[ref.Node] {
			return origin{}, true
		}
		return origin{kind: originAsset}, true
	}
	return origin{}, false
}

// traceFilename returns the origin of the saver's filename. Its default must be the
// default of TensorFlow 1's savers, or absent.
func (t *tracer) traceFilename(ref metagraph.Ref) origin {
	n, _ := t.m.Node(ref.Node)
	for range MaxTraceDepth {
		if values, ok := metagraph.ConstStrings(n); n.Op == "Placeholder" || ok && len(values) == 1 && values[0] == defaultFilename {
			return origin{kind: originCheckpoint}
		}
		in := n.DataInputs()
		if n.Op != "PlaceholderWithDefault" || len(in) != 1 || t.fed[metagraph.ParseRef(in[0]).String()] {
			return origin{}
		}
		n, _ = t.m.Node(metagraph.ParseRef(in[0]).Node)
	}
	return origin{}
}

// producer returns the node that makes an input of another node, and the number of
// its output. In a function an input is "node:output:0", or an argument, which no
// node makes. ok is false for an argument and for a node that calls a function.
func (t *tracer) producer(fn *metagraph.Function, input string) (n metagraph.Node, port int, ok bool) {
	if fn == nil {
		ref := metagraph.ParseRef(input)
		n, ok = t.m.Node(ref.Node)
		return n, ref.Port, ok && !ref.Control && t.m.Functions[n.Op] == nil
	}
	name, rest, isNode := strings.Cut(input, ":")
	if !isNode || fn.Input(name) >= 0 {
		return metagraph.Node{}, 0, false
	}
	if n, ok = fn.Node(name); !ok || t.m.Functions[n.Op] != nil {
		return metagraph.Node{}, 0, false
	}
	_, index, _ := strings.Cut(rest, ":")
	number, err := strconv.ParseUint(index, 10, 31)
	return n, int(number), index == "" || err == nil
}

// argument is one argument of a function.
type argument struct {
	fn *metagraph.Function
	i  int
}

// traceArgument follows an argument to every caller. All callers must agree. A function
// that is not named anywhere (as an operation, in an attribute, as a gradient or by its
// interface) never runs. See collect, which finds all of these.
func (t *tracer) traceArgument(fn *metagraph.Function, i, depth int) origin {
	a := argument{fn, i}
	if o, ok := t.traced[a]; ok {
		return o
	}
	if len(t.callers[fn.Name]) == 0 {
		return origin{kind: originNever}
	}
	t.traced[a] = origin{} // a function that calls itself finds this
	o := t.traceCallers(a, depth)
	t.traced[a] = o
	return o
}

// traceCallers returns the origin that an argument has for all callers.
func (t *tracer) traceCallers(a argument, depth int) origin {
	var all origin
	for k, c := range t.callers[a.fn.Name] {
		if a.i >= len(c.inputs) {
			return origin{}
		}
		o := t.trace(c.caller, c.inputs[a.i], depth+1)
		if k > 0 && (o.kind != all.kind || !slices.Equal(o.values, all.values)) {
			return origin{}
		}
		all = o
	}
	return all
}

// traceNode follows one output of a node.
func (t *tracer) traceNode(fn *metagraph.Function, n metagraph.Node, port, depth int) origin {
	if values, ok := metagraph.ConstStrings(n); ok {
		return origin{kind: originConst, values: values}
	}
	in := n.DataInputs()
	switch {
	case fn == nil && n.Op == "ReadVariableOp" && len(in) == 1:
		return t.traceVariable(in[0], depth)
	case fn == nil && n.Op == "PlaceholderWithDefault" && len(in) == 1:
		return t.trace(fn, in[0], depth+1) // the input is not fed by a signature
	}
	if !passes[n.Op] || port >= len(in) || (port > 0 && n.Op != "IdentityN") {
		return origin{}
	}
	return t.trace(fn, in[port], depth+1)
}

// defaultFilename is the default filename of TensorFlow 1's savers.
const defaultFilename = "model"
