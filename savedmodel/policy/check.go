package policy

import (
	"maps"
	"slices"
	"strings"

	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// An operation that touches the host is refused wherever it stands in the graph, even
// if it seems unreachable. The graph alone does not show whether TensorFlow runs a
// node. Importing a graph evaluates nodes that nothing reaches. Gradients and optimizer
// passes replace functions by others. Functions are named in attributes, in the
// defaults of attributes and in the list of gradients. So the policy looks up every
// operation of the graph in a table (ops.txt):
//
//	allow  it may stand anywhere
//	deny   it is refused, unless allowed by name
//	check  it is refused unless the graph alone proves a condition
//
// The conditions are in policy.go. The condition for saving and restoring also depends
// on how a node is reached: only the saver may run a saver's operations. That walk
// follows every path that TensorFlow might take. An impossible path only makes it
// refuse more.

// Check refuses a graph with forbidden contents. whole is set for a graph without
// signatures, of which a program may run any node; missing is the error about a missing
// asset. Check returns the names of the tensors that the restore operation reads.
func (p *Checker) Check(whole bool, missing error) (restored []string, err error) {
	p.missing = missing
	p.findFed()
	contents, recursion := contentCheck{p.callGraph}, recursionCheck{p.callGraph}
	for _, check := range []func() error{p.checkNames, p.collect, p.checkMissing, contents.checkTensors, contents.checkPlaceholders,
		recursion.checkChains, recursion.checkNesting} {
		if err := p.r.Tolerate(check()); err != nil {
			return nil, err
		}
	}
	if err := p.findRoots(whole); err != nil {
		return nil, err
	}
	if err := p.r.TolerateAny(p.report()); err != nil {
		return p.restored, err
	}
	return p.restored, p.r.TolerateAny(p.checkSlices())
}

// checkNames refuses functions with the name of an operation. Some parts of TensorFlow
// would run the function for such a node, others the operation.
func (p *Checker) checkNames() error {
	for _, name := range slices.Sorted(maps.Keys(p.m.Functions)) {
		if opClasses()[name] != nil {
			return p.r.Unsafe("function %s has the name of an operation", modelfile.Quote(name))
		}
	}
	return nil
}

// collect finds every operation to check and every call of a function.
func (p *Checker) collect() error {
	contents, amounts := contentCheck{p.callGraph}, amountCheck{p.tracer}
	for _, name := range slices.Sorted(maps.Keys(p.m.Nodes)) {
		n, _ := p.m.Node(name)
		for _, in := range n.Inputs {
			if ref := metagraph.ParseRef(in); p.m.Nodes[ref.Node] == nil {
				return p.r.Fail("node %s needs node %s, which the graph does not have", modelfile.Quote(name), modelfile.Quote(ref.Node))
			}
		}
		if err := contents.checkNode(n); err != nil {
			return err
		}
		if err := amounts.check(nil, n); err != nil {
			return err
		}
		var e effects
		e.add(p.m, p.allowed, n, nil)
		p.record(&e)
	}
	for _, name := range slices.Sorted(maps.Keys(p.m.Functions)) {
		fn := p.m.Functions[name]
		for _, b := range fn.Nodes {
			n := metagraph.ParseNode(b)
			if err := contents.checkNode(n); err != nil {
				return err
			}
			if err := amounts.check(fn, n); err != nil {
				return err
			}
		}
		e, err := p.effectsOf(fn)
		if err != nil {
			return err
		}
		p.record(e)
		if fn.Implements != "" { // TensorFlow may replace other functions by it
			p.callers[name] = append(p.callers[name], call{callee: name})
		}
	}
	var e effects
	for _, of := range slices.Sorted(maps.Keys(p.m.Gradients)) {
		e.addCallee(p.m, p.allowed, metagraph.Node{Name: of}, call{callee: p.m.Gradients[of]})
	}
	p.record(&e)
	return nil
}

// record adds effects to the known ones.
func (p *Checker) record(e *effects) {
	p.suspect = append(p.suspect, e.suspect...)
	for _, c := range e.calls {
		p.callers[c.callee] = append(p.callers[c.callee], c)
	}
}

// report returns the error about the refused operations.
func (p *Checker) report() error {
	var unsafe, unknown []suspect
	for _, s := range p.suspect {
		switch {
		case s.class == nil:
			unknown = append(unknown, s)
		case s.named || s.class.verdict == deny:
			s.why = s.class.reason
			unsafe = append(unsafe, s)
		default:
			if s.why = p.objection(s); s.why != "" {
				unsafe = append(unsafe, s)
			}
		}
	}
	if len(unsafe) > 0 {
		return p.unsafe(unsafe)
	}
	if len(unknown) > 0 {
		s := unknown[0]
		return p.r.Fail("operation %s (%s) is not one of TensorFlow %s: does it need a library of custom operations?%s; if you trust the model, allow operations by name",
			modelfile.Quote(s.node.Op), s.place(), metagraph.RuntimeVersion, others(unknown))
	}
	return nil
}

// unsafe returns the error about refused operations.
func (p *Checker) unsafe(found []suspect) error {
	s := found[0]
	who := p.whoReaches(s)
	e := p.r.Unsafe("operation %s (%s), %s, %s%s; if you trust the model, allow operations by name",
		modelfile.Quote(s.node.Op), s.place(), who, s.why, others(found))
	if who.kind == rootSignature {
		e.Signature = who.signature
	}
	return e
}

// others names the operations of all suspects except the first.
func others(all []suspect) string {
	var names []string
	for _, s := range all[1:] {
		if name := modelfile.Quote(s.node.Op); s.node.Op != all[0].node.Op && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) == MaxViolations {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; it also has " + strings.Join(names, ", ")
}

// checkMissing refuses a model with a missing asset that an operation may read.
// TensorFlow loads models with missing assets that no operation reads.
func (p *Checker) checkMissing() error {
	if p.missing == nil {
		return nil
	}
	reads := len(p.allowed) > 0
	for _, s := range p.suspect {
		reads = reads || s.class != nil && s.class.name == "asset"
	}
	if reads {
		return p.missing
	}
	return nil
}
