package policy

import (
	"slices"
	"strings"

	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/effect"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
)

// Most operations do not change their inputs. TensorFlow lets an operation reuse the
// buffer of an input only when nothing else uses that buffer. A few operations do not
// check this: InplaceUpdate writes to the buffer of its input, which may be a
// constant's, the path of an asset, or the value of a variable:
//
//	Const "" ──┬── Reshape ── InplaceUpdate "/etc/passwd"     (one buffer)
//	           └── CacheDataset
//
// Then no constant keeps its value, and a kernel may see its input change between its
// check and its use. So such an operation may only write to a tensor that an operation
// marked as fresh in the table made exclusively for it. Any other sharing of the buffer
// is refused, so aliases do not have to be followed.
//
// Numbers are another matter: they name no file. Whatever the graph does, the importer puts a
// DeepCopy before an operation that writes numbers (package inputcheck), so that it
// writes to a separate tensor. That is what TensorFlow documents: InplaceUpdate
// "operates on a copy of x".
//
// The rules here use the table of package effect. An operation without a row is
// refused.

// objection returns the reason why an operation is not allowed at its location, "" if
// it is allowed.
func (p *Checker) objection(s suspect) string {
	if s.class.verdict == check && !conditions[s.class.name](p, s) {
		return s.class.reason
	}
	row, ok := effect.Of(s.node.Op)
	switch {
	case !ok:
		return "does to other tensors what nobody has reviewed"
	case slices.ContainsFunc(row.Parses, func(attr string) bool { return !s.isPlain(attr, true) }):
		return "makes a handle or a variant out of bytes, or leaves to a caller what it makes"
	case slices.ContainsFunc(row.Plain, func(attr string) bool { return !s.isPlain(attr, false) }):
		return "makes a handle or a variant out of nothing"
	case slices.ContainsFunc(row.Strings, func(i int) bool { return !p.madeBy(s, i, stringPasses, makesResource) }):
		return "takes a string for a handle; allowed where an operation of the graph makes that handle"
	case slices.ContainsFunc(row.Refs, func(i int) bool { return !p.madeBy(s, i, refPasses, isRefVariable) }):
		return "writes to what a reference refers to; allowed for variables"
	case !s.writesNumbers() && slices.ContainsFunc(row.Writes, func(i int) bool { return !p.writesAlone(s, i) }):
		return "writes to a buffer that others may read; allowed for what Empty or DeepCopy made for it alone"
	}
	return ""
}

// isPlain reports whether an attribute has no types of handles or variants. With strict
// set, it reports false for types that a function's caller sets.
func (s suspect) isPlain(attr string, strict bool) bool {
	v := s.node.Attr(attr)
	if _, left := message.Find(v, message.AttrPlaceholderField); left {
		return !strict
	}
	types, _ := message.AttrTypes(v)
	if t, ok := message.AttrType(v); ok {
		types = append(types, t)
	}
	return !slices.ContainsFunc(types, func(t int32) bool {
		base := dtype.DataType(t).Base()
		return base == dtype.Resource || base == dtype.Variant
	})
}

// writesNumbers reports whether a node takes and returns tensors of numbers.
func (s suspect) writesNumbers() bool {
	t, ok := message.AttrType(s.node.Attr("T"))
	base := dtype.DataType(t).Base()
	return ok && !s.named && base != dtype.String && s.isPlain("T", true)
}

// writesAlone reports whether input i of a node is a tensor that only this node uses.
func (p *Checker) writesAlone(s suspect, i int) bool {
	for input := s.input(i); ; {
		n, _, ok := p.producer(s.caller, input)
		if !ok || p.holders(s.caller, n.Name) != 1 {
			return false
		}
		row, _ := effect.Of(n.Op)
		switch {
		case row.Fresh:
			return true
		case len(row.Writes) != 1 || row.Writes[0] >= len(n.DataInputs()):
			return false
		}
		input = n.DataInputs()[row.Writes[0]]
	}
}

// holders counts the uses of a node's output: inputs of other nodes, results of the
// function, and signatures.
func (p *Checker) holders(fn *metagraph.Function, name string) int {
	if p.held == nil {
		p.held = map[*metagraph.Function]map[string]int{}
	}
	if p.held[fn] == nil {
		p.held[fn] = p.countHolders(fn)
	}
	return p.held[fn][name]
}

// countHolders counts the holders of every node of a function or of the main graph.
func (p *Checker) countHolders(fn *metagraph.Function) map[string]int {
	count := map[string]int{}
	if fn == nil {
		for _, b := range p.m.Nodes {
			for _, in := range metagraph.ParseNode(b).DataInputs() {
				count[metagraph.ParseRef(in).Node]++
			}
		}
		for _, r := range p.roots {
			for _, target := range r.targets {
				count[metagraph.ParseRef(target).Node]++
			}
		}
		for tensor := range p.fed {
			count[metagraph.ParseRef(tensor).Node] += 2 // the caller uses a fed tensor too
		}
		return count
	}
	hold := func(tensor string) {
		name, _, _ := strings.Cut(tensor, ":")
		count[name]++
	}
	for _, b := range fn.Nodes {
		for _, in := range metagraph.ParseNode(b).DataInputs() {
			hold(in)
		}
	}
	for f := range wire.Fields(fn.Def) {
		if f.Num == metagraph.FunctionRet {
			_, tensor := message.MapEntry(f.Bytes)
			hold(string(tensor))
		}
	}
	return count
}

// refPasses are operations that pass a reference on, and stringPasses a string, with
// the indices of these inputs.
var (
	refPasses = map[string][]int{"RefIdentity": {0}, "RefEnter": {0}, "RefExit": {0}, "RefNextIteration": {0}, "RefSwitch": {0},
		"RefMerge": nil, "RefSelect": nil}
	stringPasses = map[string][]int{"RefIdentity": {0}, "RefEnter": {0}, "RefExit": {0}, "RefNextIteration": {0}, "RefSwitch": {0},
		"RefMerge": nil, "Identity": {0}, "Enter": {0}, "Exit": {0}, "NextIteration": {0}, "Switch": {0}, "Merge": nil}
)

// isRefVariable reports whether a node is a variable of TensorFlow 1.
func isRefVariable(n metagraph.Node) bool {
	return n.Op == "Variable" || n.Op == "VariableV2" || n.Op == "TemporaryVariable"
}

// makesResource reports whether a node makes a resource and the string that names it.
func makesResource(n metagraph.Node) bool {
	row, _ := effect.Of(n.Op)
	return row.Makes
}

// madeBy reports whether every node that may produce input i of s is a source. It
// follows the nodes in passes, and writers, which return their reference.
func (p *Checker) madeBy(s suspect, i int, passes map[string][]int, source func(metagraph.Node) bool) bool {
	seen := map[string]bool{}
	for pending := []string{s.input(i)}; len(pending) > 0; {
		n, _, ok := p.producer(s.caller, pending[0])
		fed := s.caller == nil && p.fed[metagraph.ParseRef(pending[0]).String()]
		pending = pending[1:]
		in := n.DataInputs()
		follow, pass := passes[n.Op]
		row, _ := effect.Of(n.Op)
		switch {
		case !ok || fed || len(seen) > MaxTraceDepth:
			return false
		case source(n) || seen[n.Name]:
			continue
		case pass && follow == nil:
			pending = append(pending, in...)
		case !pass && len(row.Refs) > 0:
			follow = row.Refs[:1]
			fallthrough
		case pass:
			if follow[0] >= len(in) {
				return false
			}
			pending = append(pending, in[follow[0]])
		default:
			return false
		}
		seen[n.Name] = true
	}
	return true
}
