package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// TensorFlow loads a model even if a variable has no value. The first run that reads
// the variable then fails, and the error names a resource but not the model.
// tf.saved_model.save writes such models from Keras 3 layers. It saves each variable
// twice, under two names; the restore operation fills one of them, and the signatures
// read the other:
//
//	sequential/dense/kernel  <- read by the signatures, never restored
//	Variable                 <- restored, and never read
//
// Here a variable counts as unset if its handle only flows to operations that read it.
// Anything that might set the variable counts as setting it: an operation that is not
// known to only read, a function that returns the handle, a second node that holds the
// same variable. So a variable that a signature or an initializer sets never counts as
// unset.

// usage describes how a variable's handle is used downstream of a tensor.
type usage struct {
	set      bool // something may set the variable
	read     bool // every run of this part of the graph reads the variable
	returned bool // the function returns the handle
}

// add merges another usage into u.
func (u *usage) add(v usage) {
	u.set, u.read, u.returned = u.set || v.set, u.read || v.read, u.returned || v.returned
}

// readingOps are operations that read a variable. lookingOps take its handle but do not
// access its value.
var (
	readingOps = []string{"ReadVariableOp", "ResourceGather", "ResourceGatherNd"}
	lookingOps = []string{"VarIsInitializedOp", "DisableCopyOnRead", "VariableShape"}
)

// handleFlow follows handles of variables through a graph.
type handleFlow struct {
	m         *metagraph.Graph
	consumers map[*metagraph.Function]map[string][]consumer // keys: a function, nil for the main graph, and a tensor
	arguments map[argument]usage
}

// consumer is a use of a tensor: input i of a node.
type consumer struct {
	node metagraph.Node
	i    int
}

// consumersOf returns the uses of a tensor in a function or in the main graph.
func (h *handleFlow) consumersOf(fn *metagraph.Function, tensor string) []consumer {
	if all, ok := h.consumers[fn]; ok {
		return all[tensor]
	}
	all := map[string][]consumer{}
	add := func(b []byte) {
		n := metagraph.ParseNode(b)
		for i, in := range n.DataInputs() {
			if fn == nil {
				in = metagraph.ParseRef(in).String()
			}
			all[in] = append(all[in], consumer{n, i})
		}
	}
	if fn == nil {
		for _, name := range slices.Sorted(maps.Keys(h.m.Nodes)) {
			add(h.m.Nodes[name])
		}
	} else {
		for _, b := range fn.Nodes {
			add(b)
		}
	}
	h.consumers[fn] = all
	return all[tensor]
}

// follow returns the usage of the handle in a tensor.
func (h *handleFlow) follow(fn *metagraph.Function, tensor string, depth int) usage {
	if depth > MaxTraceDepth {
		return usage{set: true}
	}
	u := usage{returned: fn != nil && fn.Returns(tensor)}
	for _, c := range h.consumersOf(fn, tensor) {
		u.add(h.use(fn, c, depth))
	}
	return u
}

// use returns the usage of a handle by one node.
func (h *handleFlow) use(fn *metagraph.Function, c consumer, depth int) usage {
	switch op := c.node.Op; {
	case slices.Contains(readingOps, op):
		return usage{read: true}
	case slices.Contains(lookingOps, op):
		return usage{}
	case op == "Identity":
		return h.follow(fn, output(fn, c.node.Name, 0), depth+1)
	case op == "While" || op == "StatelessWhile":
		u := h.follow(fn, output(fn, c.node.Name, c.i), depth+1)
		u.add(h.call(c, append(c.node.FunctionsOf("cond"), c.node.FunctionsOf("body")...), c.i, depth))
		u.read = false // a loop may have no iterations
		return u
	case h.m.Functions[op] != nil:
		return h.callOnce(c, []string{op}, c.i, depth)
	}
	d, ok := metagraph.DirectCalls[c.node.Op]
	if !ok || c.i < d.Skip {
		return usage{set: true}
	}
	var callees []string
	for _, attr := range d.Attrs {
		callees = append(callees, c.node.FunctionsOf(attr)...)
	}
	u := h.callOnce(c, callees, c.i-d.Skip, depth)
	u.read = u.read && len(callees) == 1 // one of several branches may read it
	return u
}

// callOnce returns the usage of a handle by functions. A function that returns the
// handle passes it to places that are not followed.
func (h *handleFlow) callOnce(c consumer, callees []string, i, depth int) usage {
	u := h.call(c, callees, i, depth)
	u.set, u.returned = u.set || u.returned, false
	return u
}

// call returns the usage by functions of a handle that is argument i.
func (h *handleFlow) call(c consumer, callees []string, i, depth int) usage {
	u := usage{set: len(callees) == 0}
	for _, name := range callees {
		fn := h.m.Functions[name]
		if fn == nil || i >= len(fn.Inputs) || fn.Input(fn.Inputs[i].Name) != i {
			return usage{set: true}
		}
		a := argument{fn, i}
		used, ok := h.arguments[a]
		if !ok {
			used = h.follow(fn, fn.Inputs[i].Name, depth+1)
			h.arguments[a] = used
		}
		u.add(used)
	}
	return u
}

// output returns how an input names output i of a node whose outputs are one list
// or one tensor.
func output(fn *metagraph.Function, node string, i int) string {
	if fn == nil {
		return metagraph.Ref{Node: node, Port: i}.String()
	}
	return node + ":output:" + strconv.Itoa(i)
}

// unsetReads returns the variables without a value, by the node of the main graph
// that reads them.
func unsetReads(m *metagraph.Graph) map[string][]string {
	h := &handleFlow{m: m, consumers: map[*metagraph.Function]map[string][]consumer{}, arguments: map[argument]usage{}}
	uses := m.VariableUses()
	found := map[string][]string{}
	for _, handle := range slices.Sorted(maps.Keys(uses.Of)) {
		n, _ := m.Node(handle)
		name, named := metagraph.VariableName(n)
		if uses.Unnamed || n.Op != "VarHandleOp" || !named || uses.Named[name] != 1 {
			continue
		}
		if u := h.follow(nil, output(nil, handle, 0), 0); u.set {
			continue
		}
		for _, c := range h.consumersOf(nil, output(nil, handle, 0)) {
			if h.use(nil, c, 0).read {
				found[c.node.Name] = append(found[c.node.Name], name)
			}
		}
	}
	return found
}

// CheckUnset finds the outputs of signatures that read variables without a value. A
// signature whose outputs all do is added to unusable.
func (g *callGraph) CheckUnset(sigs map[string]*sigdef.Signature, unusable map[string]error) error {
	reads := unsetReads(g.m)
	if len(reads) == 0 {
		return nil
	}
	var failed error
	for _, key := range slices.Sorted(maps.Keys(sigs)) {
		s := sigs[key]
		usable := len(s.Outputs) == 0
		for i := range s.Outputs {
			t := &s.Outputs[i]
			if names := g.unsetFor(s, t, reads); len(names) > 0 && t.Err == nil {
				t.Err = g.r.FailTensor(s, t, "output: it reads the variable %s%s, which nothing restores or sets; if this is a Keras 3 model, save it with model.export and not with tf.saved_model.save",
					modelfile.Quote(names[0]), more(len(names)-1))
			}
			usable = usable || t.Err == nil
		}
		if !usable {
			unusable[key], failed = s.Outputs[0].Err, s.Outputs[0].Err
			delete(sigs, key)
		}
	}
	if len(sigs) > 0 {
		return nil
	}
	return failed
}

// more returns the count of variables that a message does not name.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// unsetFor returns the variables without a value that a run for one output reads.
func (g *callGraph) unsetFor(s *sigdef.Signature, t *sigdef.Tensor, reads map[string][]string) []string {
	var names []string
	seen := map[string]bool{}
	for pending := []string{t.Node}; len(pending) > 0; {
		ref := metagraph.ParseRef(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		fed := slices.ContainsFunc(s.Inputs, func(in sigdef.Tensor) bool { return metagraph.ParseRef(in.Node) == ref })
		if fed || seen[ref.Node] {
			continue
		}
		seen[ref.Node] = true
		names = append(names, reads[ref.Node]...)
		n, _ := g.m.Node(ref.Node)
		pending = append(pending, n.Inputs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
