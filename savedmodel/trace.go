package savedmodel

import (
	"slices"
	"strconv"
	"strings"
)

// originKind says where a string in a model comes from.
type originKind int

const (
	originUnknown    originKind = iota // computed, or different for different callers
	originCheckpoint                   // TensorFlow feeds the path of the model's variables
	originAsset                        // TensorFlow feeds the path of an asset
	originConst                        // the values are written in the model
	originNever                        // an argument of a function that nothing names: it never has a value
)

// origin is where a string comes from.
type origin struct {
	kind   originKind
	values []string // of a constant
}

// passes are the operations whose outputs are their inputs, unchanged.
var passes = map[string]bool{"Identity": true, "IdentityN": true, "StopGradient": true, "Snapshot": true, "EnsureShape": true}

// comesFrom finds where an input of a node comes from; fn is the function that
// the node is in, nil for the main graph.
func (j *judgement) comesFrom(fn *function, input string) origin {
	return j.trace(fn, input, 0)
}

// trace follows an input back through the operations in passes.
func (j *judgement) trace(fn *function, input string, depth int) origin {
	if input == "" || depth > maxTraceDepth {
		return origin{}
	}
	if fn != nil {
		name, rest, isNode := strings.Cut(input, ":")
		if i := fn.input(name); i >= 0 && (!isNode || rest == "0") {
			return j.traceArgument(fn, i, depth)
		}
	} else if o, known := j.traceFed(parseRef(input)); known {
		return o
	}
	n, port, ok := j.producer(fn, input)
	if !ok {
		return origin{}
	}
	return j.traceNode(fn, n, port, depth)
}

// traceFed returns the origin of a tensor of the main graph that gets its value
// from outside the graph; known is false if it does not.
func (j *judgement) traceFed(ref tensorRef) (o origin, known bool) {
	tensor := ref.String()
	switch {
	case ref.control || j.fed[tensor]:
		return origin{}, true
	case j.m.filenameTensor != "" && tensor == parseRef(j.m.filenameTensor).String():
		return j.traceFilename(ref), true
	case j.m.isAsset(tensor):
		// A signature does not feed the path. It gets the value that the graph
		// has in its place, and a placeholder has none.
		n, _ := j.m.node(ref.node)
		if n.op != "Placeholder" && j.signatures.nodes[ref.node] {
			return origin{}, true
		}
		return origin{kind: originAsset}, true
	}
	return origin{}, false
}

// traceFilename returns the origin of the saver's filename. Its default has to be
// the one of TensorFlow 1's savers, or there is none.
func (j *judgement) traceFilename(ref tensorRef) origin {
	n, _ := j.m.node(ref.node)
	for range maxTraceDepth {
		if values, ok := constStrings(n); n.op == "Placeholder" || ok && len(values) == 1 && values[0] == defaultFilename {
			return origin{kind: originCheckpoint}
		}
		in := n.dataInputs()
		if n.op != "PlaceholderWithDefault" || len(in) != 1 || j.fed[parseRef(in[0]).String()] {
			return origin{}
		}
		n, _ = j.m.node(parseRef(in[0]).node)
	}
	return origin{}
}

// producer returns the node that makes an input of another node, and the number of
// its output. In a function an input is "node:output:0", or an argument, which no
// node makes. ok is false for an argument and for a node that calls a function.
func (j *judgement) producer(fn *function, input string) (n nodeDef, port int, ok bool) {
	if fn == nil {
		ref := parseRef(input)
		n, ok = j.m.node(ref.node)
		return n, ref.port, ok && !ref.control && j.m.functions[n.op] == nil
	}
	name, rest, isNode := strings.Cut(input, ":")
	if !isNode || fn.input(name) >= 0 {
		return nodeDef{}, 0, false
	}
	if n, ok = fn.node(name); !ok || j.m.functions[n.op] != nil {
		return nodeDef{}, 0, false
	}
	_, index, _ := strings.Cut(rest, ":")
	number, err := strconv.ParseUint(index, 10, 31)
	return n, int(number), index == "" || err == nil
}

// argument is one argument of a function.
type argument struct {
	fn *function
	i  int
}

// traceArgument follows an argument to every caller. They have to agree. Nothing
// runs a function that is named nowhere: as an operation, in an attribute, as a
// gradient or by its interface. See collect, which finds all of these.
func (j *judgement) traceArgument(fn *function, i, depth int) origin {
	a := argument{fn, i}
	if o, ok := j.traced[a]; ok {
		return o
	}
	if len(j.callers[fn.name]) == 0 {
		return origin{kind: originNever}
	}
	j.traced[a] = origin{} // for a caller that is its own
	o := j.traceCallers(a, depth)
	j.traced[a] = o
	return o
}

// traceCallers returns the origin that an argument has for all callers.
func (j *judgement) traceCallers(a argument, depth int) origin {
	var all origin
	for k, c := range j.callers[a.fn.name] {
		if a.i >= len(c.inputs) {
			return origin{}
		}
		o := j.trace(c.caller, c.inputs[a.i], depth+1)
		if k > 0 && (o.kind != all.kind || !slices.Equal(o.values, all.values)) {
			return origin{}
		}
		all = o
	}
	return all
}

// traceNode follows one output of a node.
func (j *judgement) traceNode(fn *function, n nodeDef, port, depth int) origin {
	if values, ok := constStrings(n); ok {
		return origin{kind: originConst, values: values}
	}
	in := n.dataInputs()
	switch {
	case fn == nil && n.op == "ReadVariableOp" && len(in) == 1:
		return j.traceVariable(in[0], depth)
	case fn == nil && n.op == "PlaceholderWithDefault" && len(in) == 1:
		return j.trace(fn, in[0], depth+1) // no signature feeds it
	}
	if !passes[n.op] || port >= len(in) || (port > 0 && n.op != "IdentityN") {
		return origin{}
	}
	return j.trace(fn, in[port], depth+1)
}
