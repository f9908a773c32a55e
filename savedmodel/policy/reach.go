package policy

import (
	"maps"
	"slices"

	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// root is a reason for TensorFlow to run a part of a model.
type root struct {
	kind      rootKind
	signature string
	targets   []string // operations and tensors to run
}

// rootKind is the kind of a root.
type rootKind int

const (
	rootNone rootKind = iota
	rootRestore
	rootInit
	rootSignature
	rootGraph // all nodes of a graph without signatures
)

// String describes a root in a message.
func (r root) String() string {
	switch r.kind {
	case rootRestore:
		return "which the restore operation runs at load"
	case rootInit:
		return "which the init operation runs at load"
	case rootSignature:
		return "which signature " + modelfile.Quote(r.signature) + " runs"
	}
	return "which is in the graph"
}

// reach is the part of a model that TensorFlow may run to compute some targets.
type reach struct {
	nodes     map[string]bool // nodes of the main graph
	functions map[string]bool
}

// has reports whether a suspect is in r. A nil reach is empty.
func (r *reach) has(s suspect) bool {
	switch {
	case r == nil:
		return false
	case s.caller != nil:
		return r.functions[s.caller.Name]
	}
	return r.nodes[s.node.Name]
}

// findFed finds the tensors that signatures feed. They may have any value.
func (p *Checker) findFed() {
	for _, name := range slices.Sorted(maps.Keys(p.m.SignatureDefs)) {
		if name == metagraph.InitSignature {
			continue
		}
		for _, tensor := range metagraph.SignatureTensors(p.m.SignatureDefs[name], metagraph.SignatureInputs) {
			p.fed[tensor] = true
		}
	}
}

// findRoots finds the roots and everything that they reach.
func (p *Checker) findRoots(whole bool) (err error) {
	all := root{kind: rootSignature}
	for _, name := range slices.Sorted(maps.Keys(p.m.SignatureDefs)) {
		if name == metagraph.InitSignature {
			continue
		}
		next := root{kind: rootSignature, signature: name}
		for _, tensor := range metagraph.SignatureTensors(p.m.SignatureDefs[name], metagraph.SignatureOutputs) {
			if p.m.Nodes[metagraph.ParseRef(tensor).Node] != nil { // otherwise it cannot be called
				next.targets = append(next.targets, tensor)
			}
		}
		p.roots = append(p.roots, next)
		all.targets = append(all.targets, next.targets...)
	}
	if whole {
		all = root{kind: rootGraph, targets: slices.Sorted(maps.Keys(p.m.Nodes))}
	}
	if p.signatures, err = p.reach(all); err != nil {
		return err
	}
	if p.m.InitOp != "" {
		init := root{kind: rootInit, targets: []string{p.m.InitOp}}
		p.roots = append([]root{init}, p.roots...)
		if p.init, err = p.reach(init); err != nil {
			return err
		}
	}
	if p.m.RestoreOp != "" {
		restore := root{kind: rootRestore, targets: []string{p.m.RestoreOp}}
		p.roots = append([]root{restore}, p.roots...)
		p.restore, err = p.reach(restore)
	}
	return err
}

// whoReaches returns the first root that reaches a suspect, for messages.
func (p *Checker) whoReaches(s suspect) root {
	for _, root := range p.roots {
		if r, err := p.reach(root); err == nil && r.has(s) {
			return root
		}
	}
	return root{}
}

// reach returns all nodes and functions that may run for a root.
func (p *Checker) reach(from root) (*reach, error) {
	r := &reach{nodes: map[string]bool{}, functions: map[string]bool{}}
	var pending []string
	for _, t := range from.targets {
		pending = append(pending, metagraph.ParseRef(t).Node)
	}
	for len(pending) > 0 {
		name := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if r.nodes[name] {
			continue
		}
		r.nodes[name] = true
		if p.visits++; p.visits > maxVisits {
			return nil, p.r.Limit("its signatures reach more than %d nodes, all told", maxVisits)
		}
		n, ok := p.m.Node(name)
		if !ok {
			e := p.r.Fail("%s: it needs node %s, which the graph does not have", from.missing(), modelfile.Quote(name))
			e.Signature = from.signature
			return nil, e
		}
		var e effects
		e.add(p.m, p.allowed, n, nil)
		if err := p.enter(r, e.calls); err != nil {
			return nil, err
		}
		for _, in := range n.Inputs {
			pending = append(pending, metagraph.ParseRef(in).Node)
		}
	}
	return r, nil
}

// missing returns the error about a missing node, with the node that needs it.
func (r root) missing() string {
	switch r.kind {
	case rootRestore:
		return "the restore operation"
	case rootInit:
		return "the init operation"
	}
	return "an output"
}

// enter adds the functions of calls, the functions that those call, and the functions
// by which TensorFlow may replace them.
func (p *Checker) enter(r *reach, calls []call) error {
	for queue := calls; len(queue) > 0; {
		name := queue[0].callee
		queue = queue[1:]
		if r.functions[name] {
			continue
		}
		r.functions[name] = true
		fn := p.m.Functions[name]
		e, err := p.effectsOf(fn)
		if err != nil {
			return err
		}
		queue = append(queue, e.calls...)
		for _, peer := range p.m.Peers()[fn.Implements] {
			queue = append(queue, call{callee: peer})
		}
	}
	return nil
}
