package savedmodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An operation that touches the host is refused wherever it stands in the graph,
// even if nothing seems to reach it. The graph alone does not tell whether
// TensorFlow runs a node. Importing a graph evaluates nodes that nothing reaches.
// Gradients and optimizer passes replace functions by others. Functions are named
// in attributes, in the defaults of attributes and in the list of gradients. So
// the policy looks up every operation of the graph in a table (ops.txt):
//
//	allow  it may stand anywhere
//	deny   it is refused, unless allowed by name
//	check  it is refused unless the graph alone proves a condition
//
// The conditions are in policy.go. The condition for saving and restoring also
// asks who reaches a node: only the saver may run a saver's operations. That walk
// follows every path that TensorFlow might take. A path too many only refuses
// more.

// judgement holds what the policy knows about a graph while it judges it.
type judgement struct {
	r       *report
	m       *metaGraph
	allowed map[string]bool // operations that the caller allows by name
	missing error           // of an asset, nil if all are there
	effects map[*function]*effects
	suspect []suspect
	callers map[string][]call // by function
	fed     map[string]bool   // tensors that a signature feeds
	traced  map[argument]origin
	held    map[*function]map[string]int // see holders

	// The parts that run for signatures, at load, and to restore variables.
	signatures, init, restore *reach
	roots                     []root   // each of them, for messages
	visits                    int      // nodes of the main graph that were visited, for all roots
	restored                  []string // names of the tensors that the restore operation reads
}

// newJudgement returns a check of a graph.
func newJudgement(m *metaGraph, r *report, allowed map[string]bool) *judgement {
	return &judgement{
		r: r, m: m, allowed: allowed, effects: map[*function]*effects{},
		callers: map[string][]call{}, fed: map[string]bool{}, traced: map[argument]origin{},
	}
}

// judge refuses a graph that holds what it must not. whole says that the graph has
// no signatures, so that a program may run any node of it; missing is the error of
// an asset that is not there. judge returns the names of the tensors that the
// restore operation reads.
func (j *judgement) judge(whole bool, missing error) (restored []string, err error) {
	j.missing = missing
	for _, check := range []func() error{j.checkNames, j.collect, j.checkMissing, j.checkTensors, j.checkPlaceholders} {
		if err := j.r.tolerate(check()); err != nil {
			return nil, err
		}
	}
	if err := j.findRoots(whole); err != nil {
		return nil, err
	}
	return j.restored, j.r.tolerateAny(j.report())
}

// checkNames refuses functions with the name of an operation. Parts of TensorFlow
// would take a node for the function, others for the operation.
func (j *judgement) checkNames() error {
	for _, name := range slices.Sorted(maps.Keys(j.m.functions)) {
		if opClasses()[name] != nil {
			return j.r.unsafe("function %s has the name of an operation", quote(name))
		}
	}
	return nil
}

// collect finds every operation to judge and every call of a function.
func (j *judgement) collect() error {
	for _, name := range slices.Sorted(maps.Keys(j.m.nodes)) {
		n, _ := j.m.node(name)
		for _, in := range n.inputs {
			if ref := parseRef(in); j.m.nodes[ref.node] == nil {
				return j.r.fail("node %s needs node %s, which the graph does not have", quote(name), quote(ref.node))
			}
		}
		if err := j.checkNode(n); err != nil {
			return err
		}
		if err := (amountCheck{j}).check(nil, n); err != nil {
			return err
		}
		var e effects
		e.add(j.m, j.allowed, n, nil)
		j.take(&e)
	}
	for _, name := range slices.Sorted(maps.Keys(j.m.functions)) {
		fn := j.m.functions[name]
		for _, b := range fn.nodes {
			n := parseNode(b)
			if err := j.checkNode(n); err != nil {
				return err
			}
			if err := (amountCheck{j}).check(fn, n); err != nil {
				return err
			}
		}
		e, err := j.effectsOf(fn)
		if err != nil {
			return err
		}
		j.take(e)
		if fn.implements != "" { // TensorFlow may put it in the place of others
			j.callers[name] = append(j.callers[name], call{callee: name})
		}
	}
	var e effects
	for _, of := range slices.Sorted(maps.Keys(j.m.gradients)) {
		e.addCallee(j.m, j.allowed, nodeDef{name: of}, call{callee: j.m.gradients[of]})
	}
	j.take(&e)
	return nil
}

// take adds effects to what is known.
func (j *judgement) take(e *effects) {
	j.suspect = append(j.suspect, e.suspect...)
	for _, c := range e.calls {
		j.callers[c.callee] = append(j.callers[c.callee], c)
	}
}

// report returns the error for the operations that are refused.
func (j *judgement) report() error {
	var unsafe, unknown []suspect
	for _, s := range j.suspect {
		switch {
		case s.class == nil:
			unknown = append(unknown, s)
		case s.named || s.class.verdict == deny:
			s.why = s.class.reason
			unsafe = append(unsafe, s)
		default:
			if s.why = j.objection(s); s.why != "" {
				unsafe = append(unsafe, s)
			}
		}
	}
	if len(unsafe) > 0 {
		return j.unsafe(unsafe)
	}
	if len(unknown) > 0 {
		s := unknown[0]
		return j.r.fail("operation %s (%s) is not one of TensorFlow %s: does it need a library of custom operations?%s; if you trust the model, allow operations by name",
			quote(s.node.op), s.place(), runtimeVersion, others(unknown))
	}
	return nil
}

// unsafe is the error for operations that are refused.
func (j *judgement) unsafe(found []suspect) error {
	s := found[0]
	who := j.whoReaches(s)
	e := j.r.unsafe("operation %s (%s), %s, %s%s; if you trust the model, allow operations by name",
		quote(s.node.op), s.place(), who, s.why, others(found))
	if who.kind == rootSignature {
		e.Signature = who.signature
	}
	return e
}

// place says where a suspect is.
func (s suspect) place() string {
	switch {
	case s.named && s.caller == nil && s.node.attrs == nil:
		return "the gradient of " + quote(s.node.name)
	case s.node.name == "":
		return "an attribute of function " + quote(s.caller.name)
	case s.caller == nil:
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
	return "; it also has " + strings.Join(names, ", ")
}

// input returns data input i of a suspect, "" if there is none.
func (s suspect) input(i int) string {
	if in := s.node.dataInputs(); i < len(in) {
		return in[i]
	}
	return ""
}

// checkMissing refuses a model with a missing asset that an operation may read.
// TensorFlow loads models whose assets nothing reads.
func (j *judgement) checkMissing() error {
	if j.missing == nil {
		return nil
	}
	reads := len(j.allowed) > 0
	for _, s := range j.suspect {
		reads = reads || s.class != nil && s.class.name == "asset"
	}
	if reads {
		return j.missing
	}
	return nil
}
