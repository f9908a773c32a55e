package savedmodel

import (
	"fmt"
	"slices"
	"strings"

	"millrace"
)

// root is one reason why TensorFlow runs parts of a model.
type root struct {
	kind      rootKind
	signature string
	targets   []string        // operations and tensors to run
	fed       map[string]bool // tensors that get values instead of being computed
}

// rootKind tells roots apart.
type rootKind int

const (
	rootRestore rootKind = iota
	rootInit
	rootSignature
	rootGraph // all nodes of a graph without signatures
)

// String names a root for a message.
func (r root) String() string {
	switch r.kind {
	case rootRestore:
		return "the restore operation, which runs at load,"
	case rootInit:
		return "the init operation, which runs at load,"
	case rootGraph:
		return "the graph"
	}
	return "it"
}

// walk is the part of a model that one root reaches.
type walk struct {
	r       *reader
	m       *metaGraph
	root    root
	nodes   map[string]bool   // of the main graph
	entered map[string]bool   // functions
	callers map[string][]call // by function
	pending []string          // nodes of the main graph to visit
	queue   []string          // functions to enter
	suspect []suspect
	peers   map[string][]string // functions by the interface they implement
	traced  map[argument]origin
}

// census walks a model from everything that will run and refuses what it may
// not do.
func (r *reader) census(m *metaGraph, sigs map[string]*Signature) error {
	roots, err := r.roots(m, sigs)
	if err != nil {
		return err
	}
	peers := m.peers()
	for i, root := range roots {
		if root.kind == rootSignature && r.walkFrom(m, together(roots[i:]), peers) == nil {
			return nil
		}
		if err := r.walkFrom(m, root, peers); err != nil {
			return err
		}
	}
	return nil
}

// walkFrom judges what one root reaches.
func (r *reader) walkFrom(m *metaGraph, root root, peers map[string][]string) error {
	w := &walk{r: r, m: m, root: root, peers: peers,
		nodes: map[string]bool{}, entered: map[string]bool{}, callers: map[string][]call{}, traced: map[argument]origin{}}
	return w.run()
}

// together returns a root that reaches at least what all signatures do, feeds
// aside: when it is harmless so is each of them, and one walk was enough.
func together(signatures []root) root {
	all := root{kind: rootSignature}
	for _, s := range signatures {
		all.targets = append(all.targets, s.targets...)
	}
	return all
}

// roots returns what will run: the restore and init operations at load, then
// the signatures.
func (r *reader) roots(m *metaGraph, sigs map[string]*Signature) ([]root, error) {
	fed := map[string]bool{}
	for _, a := range m.assets {
		fed[parseRef(a.tensor).String()] = true
	}
	var roots []root
	if m.restoreOp != "" {
		withName := map[string]bool{parseRef(m.filenameTensor).String(): true}
		for t := range fed {
			withName[t] = true
		}
		roots = append(roots, root{kind: rootRestore, targets: []string{m.restoreOp}, fed: withName})
	}
	initOp, err := r.initOp(m)
	if err != nil {
		return nil, err
	}
	if initOp != "" {
		roots = append(roots, root{kind: rootInit, targets: []string{initOp}, fed: fed})
	}
	used, err := r.usedSignatures(sigs)
	if err != nil {
		return nil, err
	}
	for _, s := range used {
		next := root{kind: rootSignature, signature: s.Name, fed: map[string]bool{}}
		for _, t := range s.Inputs {
			next.fed[t.Node] = true
		}
		for _, t := range s.Outputs {
			if t.Node != "" {
				next.targets = append(next.targets, t.Node)
			}
		}
		roots = append(roots, next)
	}
	return roots, nil
}

// usedSignatures returns the signatures that the caller means to run.
func (r *reader) usedSignatures(sigs map[string]*Signature) ([]*Signature, error) {
	names := r.options.signatures()
	if len(names) == 0 {
		names = sortedKeys(sigs)
	}
	var used []*Signature
	for _, name := range names {
		s, err := findSignature(r.file, sigs, name)
		if err != nil {
			return nil, err
		}
		used = append(used, s)
	}
	return used, nil
}

// run walks everything below the root and reports what it may not do.
func (w *walk) run() error {
	for _, t := range w.root.targets {
		w.pending = append(w.pending, parseRef(t).node)
	}
	for len(w.pending) > 0 {
		name := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		if err := w.visit(name); err != nil {
			return err
		}
	}
	for len(w.queue) > 0 {
		name := w.queue[0]
		w.queue = w.queue[1:]
		e, err := w.r.effectsOf(w.m, w.m.functions[name])
		if err != nil {
			return err
		}
		w.take(e)
	}
	return w.report()
}

// visit adds a node of the main graph and what it needs.
func (w *walk) visit(name string) error {
	if w.nodes[name] {
		return nil
	}
	w.nodes[name] = true
	if w.r.visits++; w.r.visits > maxVisits {
		return w.r.limit("its signatures reach more than %d nodes, all told", maxVisits)
	}
	n, ok := w.m.node(name)
	if !ok {
		e := w.r.fail("%s needs node %s, which the graph does not have", w.root, quote(name))
		e.Signature = w.root.signature
		return e
	}
	var e effects
	e.add(w.m, w.r.allowed, n, nil)
	w.take(&e)
	for _, in := range n.inputs {
		ref := parseRef(in)
		if ref.control || !w.root.fed[ref.String()] {
			w.pending = append(w.pending, ref.node)
		}
	}
	return nil
}

// take notes effects and enters the functions they call, with those that
// TensorFlow may swap in for them.
func (w *walk) take(e *effects) {
	w.suspect = append(w.suspect, e.suspect...)
	for _, c := range e.calls {
		w.callers[c.callee] = append(w.callers[c.callee], c)
		w.enter(c.callee)
		for _, peer := range w.peers[w.m.functions[c.callee].implements] {
			if peer != c.callee {
				c.callee = peer
				w.callers[peer] = append(w.callers[peer], c)
				w.enter(peer)
			}
		}
	}
}

// enter has a function's body walked once.
func (w *walk) enter(name string) {
	if !w.entered[name] {
		w.entered[name] = true
		w.queue = append(w.queue, name)
	}
}

// report judges the suspects now that all callers are known, and returns the
// error for those that are refused.
func (w *walk) report() error {
	var unsafe, unknown []suspect
	for _, s := range w.suspect {
		switch {
		case s.class == nil:
			unknown = append(unknown, s)
		case s.class.verdict == deny || !w.condition(s):
			unsafe = append(unsafe, s)
		}
	}
	if len(unsafe) > 0 {
		return w.unsafe(unsafe)
	}
	if len(unknown) > 0 {
		s := unknown[0]
		e := w.r.fail("%s reaches operation %s (%s), which TensorFlow %s does not have: does it need a library of custom operations?%s",
			w.root, quote(s.node.op), s.place(), runtimeVersion, others(unknown))
		e.Signature = w.root.signature
		return e
	}
	return nil
}

// unsafe is the error for operations that are refused.
func (w *walk) unsafe(found []suspect) error {
	s := found[0]
	e := w.r.fail("%s reaches operation %s (%s), which %s%s; who trusts the model can allow operations by name",
		w.root, quote(s.node.op), s.place(), s.class.reason, others(found))
	e.Class = millrace.ErrUnsafeModel
	e.Signature = w.root.signature
	return e
}

// place says where a suspect is.
func (s suspect) place() string {
	if s.caller == nil {
		return "node " + quote(s.node.name)
	}
	return fmt.Sprintf("node %s of function %s", quote(s.node.name), quote(s.caller.name))
}

// others names the operations of all suspects but the first's.
func others(all []suspect) string {
	var names []string
	for _, s := range all[1:] {
		if name := quote(s.node.op); s.node.op != all[0].node.op && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) == maxViolations {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; it also reaches " + strings.Join(names, ", ")
}
