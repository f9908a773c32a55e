package savedmodel

import (
	"slices"
	"strconv"
	"strings"
)

// originKind says where a string in a model comes from.
type originKind int

const (
	originUnknown    originKind = iota // computed, or not the same for all callers
	originCheckpoint                   // TensorFlow feeds the path of the model's variables
	originAsset                        // TensorFlow feeds the path of an asset
	originConst                        // the values are written in the model
)

// origin is where a string comes from.
type origin struct {
	kind   originKind
	values []string // of a constant
}

// passes are the operations that hand their inputs on unchanged.
var passes = map[string]bool{"Identity": true, "IdentityN": true, "StopGradient": true, "Snapshot": true, "EnsureShape": true}

// comesFrom finds where an input of a node comes from; fn is the function that
// the node is in, nil for the main graph.
func (w *walk) comesFrom(fn *function, input string) origin {
	return w.trace(fn, input, 0)
}

// trace follows an input back through what only hands it on.
func (w *walk) trace(fn *function, input string, depth int) origin {
	if input == "" || depth > maxTraceDepth {
		return origin{}
	}
	if fn != nil {
		return w.traceIn(fn, input, depth)
	}
	ref := parseRef(input)
	switch tensor := ref.String(); {
	case ref.control:
		return origin{}
	case w.root.kind == rootRestore && tensor == parseRef(w.m.filenameTensor).String():
		return origin{kind: originCheckpoint}
	case w.root.kind != rootSignature && w.isAsset(tensor):
		return origin{kind: originAsset}
	case w.root.fed[tensor]:
		return origin{}
	}
	n, ok := w.m.node(ref.node)
	if !ok || w.m.functions[n.op] != nil {
		return origin{}
	}
	return w.traceNode(nil, n, ref.port, depth)
}

// isAsset reports whether TensorFlow feeds a tensor with an asset's path.
func (w *walk) isAsset(tensor string) bool {
	return slices.ContainsFunc(w.m.assets, func(a assetDef) bool { return parseRef(a.tensor).String() == tensor })
}

// traceIn follows an input inside a function: an argument, or "node:output:0".
func (w *walk) traceIn(fn *function, input string, depth int) origin {
	name, rest, isNode := strings.Cut(input, ":")
	if i := fn.input(name); i >= 0 && (!isNode || rest == "0") {
		return w.traceArgument(fn, i, depth)
	}
	n, ok := fn.node(name)
	if !ok || !isNode || w.m.functions[n.op] != nil {
		return origin{}
	}
	_, index, _ := strings.Cut(rest, ":")
	port, err := strconv.ParseUint(index, 10, 31)
	if index != "" && err != nil {
		return origin{}
	}
	return w.traceNode(fn, n, int(port), depth)
}

// argument is one argument of a function.
type argument struct {
	fn *function
	i  int
}

// traceArgument follows an argument to every caller; they have to agree.
func (w *walk) traceArgument(fn *function, i, depth int) origin {
	a := argument{fn, i}
	if o, ok := w.traced[a]; ok {
		return o
	}
	w.traced[a] = origin{} // for a caller that is its own
	o := w.traceCallers(a, depth)
	w.traced[a] = o
	return o
}

// traceCallers returns the origin that an argument has for all callers.
func (w *walk) traceCallers(a argument, depth int) origin {
	var all origin
	for k, c := range w.callers[a.fn.name] {
		if c.opaque || a.i >= len(c.inputs) {
			return origin{}
		}
		o := w.trace(c.caller, c.inputs[a.i], depth+1)
		if k > 0 && (o.kind != all.kind || !slices.Equal(o.values, all.values)) {
			return origin{}
		}
		all = o
	}
	return all
}

// traceNode follows one output of a node.
func (w *walk) traceNode(fn *function, n nodeDef, port, depth int) origin {
	if values, ok := constStrings(n); ok {
		return origin{kind: originConst, values: values}
	}
	in := n.dataInputs()
	if n.op == "ReadVariableOp" && fn == nil && len(in) == 1 {
		return w.traceVariable(in[0], depth)
	}
	if !passes[n.op] || port >= len(in) || (port > 0 && n.op != "IdentityN") {
		return origin{}
	}
	return w.trace(fn, in[port], depth+1)
}

// String returns a reference as "node:port" or "^node".
func (t tensorRef) String() string {
	if t.control {
		return "^" + t.node
	}
	return t.node + ":" + strconv.Itoa(t.port)
}
