package policy

import (
	"maps"
	"slices"
	"strings"

	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// TensorFlow follows some operations recursively from output to input: Grappler follows
// operations that pass their input on, shape inference follows computations of shapes,
// an iterator follows its input datasets, and a destructor follows nested tensors. A
// long chain overflows the stack and ends the process. So the length of chains is
// limited, including the chains in called functions.

// Kinds of chains, with the maximum length in a model.
const (
	forwarding = iota
	reading
	holding
	chainKinds
)

var longestChain = [chainKinds]int{forwarding: 1 << 12, reading: 1 << 9, holding: 1 << 12}

var chainNames = [chainKinds]string{"operations that pass their input on, or make shapes", "datasets", "variants that hold variants"}

// chainOps are operations that a chain is made of. Datasets are recognized by their names.
var chainOps = map[string]int{
	"CheckNumerics": forwarding, "CheckNumericsV2": forwarding, "Concat": forwarding, "ConcatV2": forwarding, "Copy": forwarding, "CopyHost": forwarding,
	"DebugGradientIdentity": forwarding, "EnsureShape": forwarding, "Enter": forwarding, "Exit": forwarding, "Identity": forwarding, "IdentityN": forwarding,
	"Pack": forwarding, "PlaceholderWithDefault": forwarding, "PreventGradient": forwarding, "RefIdentity": forwarding,
	"Shape": forwarding, "ShapeN": forwarding, "Slice": forwarding, "Snapshot": forwarding, "StopGradient": forwarding, "StridedSlice": forwarding,
	"CompositeTensorVariantFromComponents": holding, "OptionalFromValue": holding, "RaggedTensorToVariant": holding,
	"TensorListFromTensor": holding, "TensorListPushBack": holding, "TensorListSetItem": holding, "TensorMapInsert": holding,
}

// chainKind returns the kind of chain that an operation continues, -1 for none.
func chainKind(op string) int {
	if kind, ok := chainOps[op]; ok {
		return kind
	}
	if strings.HasSuffix(strings.TrimRight(op, "V234"), "Dataset") {
		return reading
	}
	return -1
}

// chains finds the longest chains of functions.
type chains struct {
	recursionCheck
	known map[string]*[chainKinds]int // key: a function; the value is nil while the function is visited
}

// checkChains refuses a graph with a chain that is too long.
func (c recursionCheck) checkChains() error {
	all := &chains{recursionCheck: c, known: map[string]*[chainKinds]int{}}
	check := func(fn *metagraph.Function, where string) error {
		for kind, n := range all.longest(fn) {
			if n > longestChain[kind] {
				return c.r.Limit("%s has a chain of %d %s; TensorFlow's stack lasts for %d", where, n, chainNames[kind], longestChain[kind])
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.m.Functions)) {
		if err := check(c.m.Functions[name], "function "+modelfile.Quote(name)); err != nil {
			return err
		}
	}
	return check(nil, "the graph")
}

// longest returns the length of the longest chain of each kind in a body.
func (c *chains) longest(fn *metagraph.Function) [chainKinds]int {
	if fn != nil {
		if known, seen := c.known[fn.Name]; seen {
			if known == nil {
				return [chainKinds]int{} // it calls itself, and is refused elsewhere
			}
			return *known
		}
		c.known[fn.Name] = nil
	}
	var all [chainKinds]int
	b := c.bodyOf(fn)
	lengths := make([][chainKinds]int, len(b.nodes))
	for i, n := range b.nodes {
		var before [chainKinds]int
		for _, in := range n.DataInputs() {
			if at, ok := b.at[b.producer(in)]; ok && at < i {
				for kind, length := range lengths[at] {
					before[kind] = max(before[kind], length)
				}
			}
		}
		if kind := chainKind(n.Op); kind >= 0 {
			lengths[i][kind] = before[kind] + 1
		}
		for k, callee := range c.calleesOf(n) {
			for kind, length := range c.longest(c.m.Functions[callee]) {
				if k == 0 {
					lengths[i][kind] = max(lengths[i][kind], before[kind])
				}
				lengths[i][kind] = max(lengths[i][kind], before[kind]+length)
			}
		}
		for kind, length := range lengths[i] {
			all[kind] = max(all[kind], length)
		}
	}
	if fn != nil {
		c.known[fn.Name] = &all
	}
	return all
}
