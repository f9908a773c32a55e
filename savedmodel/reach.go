package savedmodel

import (
	"maps"
	"slices"
)

// root is a reason for TensorFlow to run a part of a model.
type root struct {
	kind      rootKind
	signature string
	targets   []string // operations and tensors to run
}

// rootKind tells roots apart.
type rootKind int

const (
	rootNone rootKind = iota
	rootRestore
	rootInit
	rootSignature
	rootGraph // all nodes of a graph without signatures
)

// String says in a message who reaches an operation.
func (r root) String() string {
	switch r.kind {
	case rootRestore:
		return "which the restore operation runs at load"
	case rootInit:
		return "which the init operation runs at load"
	case rootSignature:
		return "which signature " + quote(r.signature) + " runs"
	}
	return "which is in the graph"
}

// reach is the part of a model that TensorFlow may run to compute some targets.
type reach struct {
	nodes     map[string]bool // of the main graph
	functions map[string]bool
}

// has reports whether a suspect is in r. A nil reach is empty.
func (r *reach) has(s suspect) bool {
	switch {
	case r == nil:
		return false
	case s.caller != nil:
		return r.functions[s.caller.name]
	}
	return r.nodes[s.node.name]
}

// findRoots finds the roots and everything that they reach.
func (j *judgement) findRoots(whole bool) (err error) {
	all := root{kind: rootSignature}
	for _, name := range slices.Sorted(maps.Keys(j.m.signatures)) {
		if name == initSignature {
			continue
		}
		next := root{kind: rootSignature, signature: name}
		for _, tensor := range signatureTensors(j.m.signatures[name], signatureInputs) {
			j.fed[tensor] = true
		}
		for _, tensor := range signatureTensors(j.m.signatures[name], signatureOutputs) {
			if j.m.nodes[parseRef(tensor).node] != nil { // else it cannot be called
				next.targets = append(next.targets, tensor)
			}
		}
		j.roots = append(j.roots, next)
		all.targets = append(all.targets, next.targets...)
	}
	if whole {
		all = root{kind: rootGraph, targets: slices.Sorted(maps.Keys(j.m.nodes))}
	}
	if j.signatures, err = j.reach(all); err != nil {
		return err
	}
	if j.m.initOp != "" {
		init := root{kind: rootInit, targets: []string{j.m.initOp}}
		j.roots = append([]root{init}, j.roots...)
		if j.init, err = j.reach(init); err != nil {
			return err
		}
	}
	if j.m.restoreOp != "" {
		restore := root{kind: rootRestore, targets: []string{j.m.restoreOp}}
		j.roots = append([]root{restore}, j.roots...)
		j.restore, err = j.reach(restore)
	}
	return err
}

// whoReaches returns the first root that reaches a suspect, for a message.
func (j *judgement) whoReaches(s suspect) root {
	for _, root := range j.roots {
		if r, err := j.reach(root); err == nil && r.has(s) {
			return root
		}
	}
	return root{}
}

// reach returns everything that may run for a root.
func (j *judgement) reach(from root) (*reach, error) {
	r := &reach{nodes: map[string]bool{}, functions: map[string]bool{}}
	var pending []string
	for _, t := range from.targets {
		pending = append(pending, parseRef(t).node)
	}
	for len(pending) > 0 {
		name := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if r.nodes[name] {
			continue
		}
		r.nodes[name] = true
		if j.visits++; j.visits > maxVisits {
			return nil, j.r.limit("its signatures reach more than %d nodes, all told", maxVisits)
		}
		n, ok := j.m.node(name)
		if !ok {
			e := j.r.fail("%s: it needs node %s, which the graph does not have", from.missing(), quote(name))
			e.Signature = from.signature
			return nil, e
		}
		var e effects
		e.add(j.m, j.allowed, n, nil)
		if err := j.enter(r, e.calls); err != nil {
			return nil, err
		}
		for _, in := range n.inputs {
			pending = append(pending, parseRef(in).node)
		}
	}
	return r, nil
}

// missing says in a message what needs a node that is not there.
func (r root) missing() string {
	switch r.kind {
	case rootRestore:
		return "the restore operation"
	case rootInit:
		return "the init operation"
	}
	return "an output"
}

// enter adds the functions of calls, the functions that those call, and the
// functions that TensorFlow may put in their places.
func (j *judgement) enter(r *reach, calls []call) error {
	for queue := calls; len(queue) > 0; {
		name := queue[0].callee
		queue = queue[1:]
		if r.functions[name] {
			continue
		}
		r.functions[name] = true
		fn := j.m.functions[name]
		e, err := j.effectsOf(fn)
		if err != nil {
			return err
		}
		queue = append(queue, e.calls...)
		for _, peer := range j.m.peers()[fn.implements] {
			queue = append(queue, call{callee: peer})
		}
	}
	return nil
}
