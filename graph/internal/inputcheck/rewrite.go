package inputcheck

import (
	"bytes"
	"slices"

	"millrace/internal/base/tfproto"
	"millrace/savedmodel/effect"
)

// A model may request two things that TensorFlow does before any deadline or check can
// stop it.
//
// Constant folding runs whatever has only constants for inputs, in the calling thread,
// as a separate graph. A loop in it nests a call in each iteration: after some thousand
// of them the stack overflows and ends the process. TensorFlow never folds stateful
// operations. So the operations that contain loops are replaced by equivalent ones that
// are registered as stateful:
//
//	StatelessWhile -> While                    and, around one:
//	PartitionedCall -> StatefulPartitionedCall
//	StatelessIf -> If, StatelessCase -> Case
//
// XLA compiles a function when it is called, and its compiler ends the process for
// dimensions that it does not expect. Functions compute the same without XLA.

// stateful maps the operations that contain loops to their stateful equivalents.
var stateful = map[string]string{"PartitionedCall": "StatefulPartitionedCall", "StatelessIf": "If", "StatelessCase": "Case", "StatelessWhile": "While"}

// compileAttrs are the attributes that request XLA.
var compileAttrs = []string{"_XlaMustCompile", "_XlaCompile", "_XlaCompiledKernel", "_XlaCluster", "_XlaScope"}

// asksForCompiler reports whether a serialized GraphDef has such an attribute.
func asksForCompiler(def []byte) bool { return bytes.Contains(def, []byte("_Xla")) }

// dropCompiler removes the attributes that request XLA.
func dropCompiler(g *tfproto.GraphDef) {
	drop := func(attrs map[string]*tfproto.AttrValue) {
		for _, name := range compileAttrs {
			delete(attrs, name)
		}
	}
	for _, n := range g.GetNode() {
		drop(n.GetAttr())
	}
	for _, f := range g.GetLibrary().GetFunction() {
		drop(f.GetAttr())
		for _, n := range f.GetNodeDef() {
			drop(n.GetAttr())
		}
	}
}

// keepLoops keeps loops out of constant folding.
func keepLoops(g *tfproto.GraphDef, f *flow) {
	loops := loopingFunctions(g.GetLibrary(), f)
	keep := func(body string, nodes []*tfproto.NodeDef) {
		for _, n := range nodes {
			other := stateful[n.GetOp()]
			if other != "" && (f.mayBeFolded(body, n) || callsOne(n, loops)) {
				n.Op = other
			}
		}
	}
	keep("", g.GetNode())
	for _, f := range g.GetLibrary().GetFunction() {
		keep(f.GetSignature().GetName(), f.GetNodeDef())
		if loops[f.GetSignature().GetName()] { // a function's name may be a node's operation
			f.Signature.IsStateful = true
		}
	}
}

// mayBeFolded reports whether a node is a loop whose variables may all be constants.
func (f *flow) mayBeFolded(body string, n *tfproto.NodeDef) bool {
	return (n.GetOp() == "While" || n.GetOp() == "StatelessWhile") &&
		!slices.ContainsFunc(dataInputs(n), func(in string) bool { return f.neverConstant(body, in, 0) })
}

// keepsValue are operations whose output is a constant only if their first input is.
var keepsValue = words(`Cast EnsureShape ExpandDims Identity Reshape Snapshot Squeeze StopGradient TensorListFromTensor Transpose`)

// neverConstant reports whether a tensor only has a value during a run: a fed tensor, a
// variable's handle, or the output of another stateful operation.
func (f *flow) neverConstant(body, tensor string, depth int) bool {
	name := nodeOf(tensor)
	if n := f.bodies[body][name]; n != nil {
		if keepsValue[n.GetOp()] && depth < maxFlowDepth && len(dataInputs(n)) > 0 {
			return f.neverConstant(body, n.GetInput()[0], depth+1)
		}
		row, known := effect.Of(n.GetOp())
		return n.GetOp() == "Placeholder" || known && row.State && !row.Calls
	}
	i, ok := f.args[body][name]
	if !ok || depth >= maxFlowDepth {
		return false
	}
	a := argument{body, i}
	never, seen := f.fixed[a]
	if !seen {
		f.fixed[a] = false // a function may call itself
		never = !slices.ContainsFunc(f.calls[body], func(c call) bool {
			return i >= len(c.inputs) || c.inputs[i] == "" || !f.neverConstant(c.caller, c.inputs[i], depth+1)
		})
		f.fixed[a] = never
	}
	return never
}

// loopingFunctions returns the functions that contain a loop which may be folded, or
// call such a function.
func loopingFunctions(library *tfproto.FunctionDefLibrary, flow *flow) map[string]bool {
	callers := map[string][]string{}
	loops := map[string]bool{}
	var pending []string
	for _, f := range library.GetFunction() {
		name := f.GetSignature().GetName()
		for _, n := range f.GetNodeDef() {
			if !loops[name] && flow.mayBeFolded(name, n) {
				loops[name] = true
				pending = append(pending, name)
			}
			for _, callee := range calledBy(n) {
				callers[callee] = append(callers[callee], name)
			}
		}
	}
	for len(pending) > 0 {
		name := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, caller := range callers[name] {
			if !loops[caller] {
				loops[caller] = true
				pending = append(pending, caller)
			}
		}
	}
	return loops
}

// calledBy returns the functions that a node may call, including its own operation.
func calledBy(n *tfproto.NodeDef) []string {
	names := []string{n.GetOp()}
	for _, a := range n.GetAttr() {
		if name := a.GetFunc().GetName(); name != "" {
			names = append(names, name)
		}
		for _, f := range a.GetList().GetFunc() {
			names = append(names, f.GetName())
		}
	}
	return names
}

// callsOne reports whether a node calls one of some functions.
func callsOne(n *tfproto.NodeDef, functions map[string]bool) bool {
	return slices.ContainsFunc(calledBy(n), func(name string) bool { return functions[name] })
}
