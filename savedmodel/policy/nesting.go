package policy

import (
	"maps"
	"math"
	"slices"
	"strings"

	"millrace/dtype"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// A variant may contain variants: a list contains its elements, an optional its value,
// a dataset its input dataset. A loop that wraps its variable in each iteration nests
// variants without end, and the destructor of a million nested variants overflows the
// stack:
//
//	v ──> While ──> OptionalFromValue(v) ──> v
//
// So for each loop we compute by how much the nesting of its variants grows in an
// iteration. An operation that wraps a variant adds 1, one that unwraps it subtracts 1,
// one that passes it on adds 0; the deepest path counts. A loop whose variants get
// deeper is refused. Operations that keep tensors for a later iteration or run, such as
// a variable or a queue, may not keep variants at all.

// sameDepth maps operations to the inputs that have the same depth as their outputs.
// Their other inputs are nested in the outputs.
var sameDepth = map[string][]int{
	"TensorListConcatLists": {0, 1}, "TensorListPopBack": {0}, "TensorListPushBack": {0}, "TensorListPushBackBatch": {0}, "TensorListResize": {0},
	"TensorListScatterIntoExistingList": {0}, "TensorListSetItem": {0}, "TensorMapErase": {0}, "TensorMapInsert": {0},
}

// passesVariants are operations that pass all their inputs on, or pieces of them.
var passesVariants = words(`AddN BroadcastTo Concat ConcatV2 Copy CopyHost DeepCopy EnsureShape Enter Exit ExpandDims Fill Gather GatherV2 Identity IdentityN If
	Merge NextIteration Pack PlaceholderWithDefault PreventGradient Reshape Select SelectV2 Slice Snapshot Split Squeeze StopGradient StridedSlice Switch Tile
	Transpose Unpack Where ZerosLike`)

// takesOut are operations that return the contents of their variant.
var takesOut = words(`CompositeTensorVariantToComponents OptionalGetValue RaggedTensorFromVariant TensorListConcatV2 TensorListGather TensorListGetItem
	TensorListStack TensorMapLookup UnwrapDatasetVariant`)

// keepers are operations that keep tensors, with the attributes for the dtypes of these
// tensors.
var keepers = map[string][]string{
	"FIFOQueue": {"component_types"}, "FIFOQueueV2": {"component_types"}, "MutableDenseHashTable": {"value_dtype"}, "MutableDenseHashTableV2": {"value_dtype"},
	"MutableHashTable": {"value_dtype"}, "MutableHashTableOfTensors": {"value_dtype"}, "MutableHashTableOfTensorsV2": {"value_dtype"},
	"MutableHashTableV2": {"value_dtype"}, "AnonymousMutableHashTable": {"value_dtype"}, "AnonymousMutableHashTableOfTensors": {"value_dtype"},
	"PaddingFIFOQueue": {"component_types"}, "PaddingFIFOQueueV2": {"component_types"}, "PriorityQueue": {"component_types"}, "PriorityQueueV2": {"component_types"},
	"RandomShuffleQueue": {"component_types"}, "RandomShuffleQueueV2": {"component_types"}, "Stack": {"elem_type"}, "StackV2": {"elem_type"},
	"TemporaryVariable": {"dtype"}, "TensorArray": {"dtype"}, "TensorArrayV2": {"dtype"}, "TensorArrayV3": {"dtype"},
	"VarHandleOp": {"dtype"}, "Variable": {"dtype"}, "VariableV2": {"dtype"},
}

// none is the depth of a node that does not depend on a variant.
const none = math.MinInt32

// nesting computes how deep functions nest their arguments.
type nesting struct {
	recursionCheck
	known map[string][][]int // key: a function; value: for each argument, how much deeper each result is
	err   error
}

// checkNesting refuses loops that nest variants, and operations that keep variants.
func (c recursionCheck) checkNesting() error {
	all := &nesting{recursionCheck: c, known: map[string][][]int{}}
	for _, name := range slices.Sorted(maps.Keys(c.m.Functions)) {
		all.function(name)
	}
	all.loops(c.bodyOf(nil))
	return all.err
}

// checkKeeper refuses an operation that keeps variants or handles.
func (c recursionCheck) checkKeeper(n metagraph.Node) error {
	for _, name := range keepers[n.Op] {
		if (suspect{node: n}).isPlain(name, false) {
			continue
		}
		return c.r.Unsafe("node %s (%s) keeps variants or handles: what it gives may hold what it got, deeper in each run", modelfile.Quote(n.Name), modelfile.Quote(n.Op))
	}
	return nil
}

// refuse records the first error.
func (c *nesting) refuse(b *body, n metagraph.Node) {
	if c.err == nil {
		where := "the graph"
		if b.fn != nil {
			where = "function " + modelfile.Quote(b.fn.Name)
		}
		c.err = c.r.Unsafe("node %s (%s) of %s is a loop that puts a variant into a variant in each iteration; TensorFlow's stack ends when it frees them",
			modelfile.Quote(n.Name), modelfile.Quote(n.Op), where)
	}
}

// function returns for each argument of a function how much deeper each result is.
func (c *nesting) function(name string) [][]int {
	if known, seen := c.known[name]; seen {
		return known
	}
	c.known[name] = nil // it calls itself, and is refused elsewhere
	fn := c.m.Functions[name]
	b := c.bodyOf(fn)
	c.loops(b)
	returned := b.returned()
	var all [][]int
	for _, a := range fn.Inputs {
		row := slices.Repeat([]int{none}, len(returned))
		if mayBeVariant(a.Type) {
			depths := c.depths(b, a.Name)
			for k, from := range returned {
				row[k] = depths[from]
				if _, reached := depths[from]; !reached {
					row[k] = none
				}
			}
		}
		all = append(all, row)
	}
	c.known[name] = all
	return all
}

// mayBeVariant reports whether a type of an argument is variant, or the caller's.
func mayBeVariant(t int32) bool { return t == 0 || dtype.DataType(t).Base() == dtype.Variant }

// depths returns for each node of a body that depends on a source how much deeper it is
// nested.
func (c *nesting) depths(b *body, source string) map[string]int {
	depths := map[string]int{source: 0}
	for i, n := range b.nodes {
		if n.Name == source {
			continue
		}
		deepest := none
		for k, in := range n.DataInputs() {
			from := b.producer(in)
			if at, isNode := b.at[from]; isNode && at >= i {
				continue // belongs to the next iteration
			}
			if depth, holds := depths[from]; holds {
				if more := c.deeper(n, k); more != none {
					deepest = max(deepest, depth+more)
				}
			}
		}
		if deepest != none {
			depths[n.Name] = deepest
		}
	}
	return depths
}

// deeper returns how much deeper the outputs of a node are than its input k, none if
// they do not depend on it.
func (c *nesting) deeper(n metagraph.Node, k int) int {
	if callees := c.calleesOf(n); len(callees) > 0 {
		return c.called(n, callees, k)
	}
	if types, ok := metagraph.OutputTypes(n); ok && !slices.ContainsFunc(types, mayBeVariant) {
		return none
	}
	same, known := sameDepth[n.Op]
	switch {
	case known && slices.Contains(same, k), passesVariants[n.Op]:
		return 0
	case takesOut[n.Op]:
		return -1
	}
	return 1
}

// called returns how much deeper the results of a call are than its input k.
func (c *nesting) called(n metagraph.Node, callees []string, k int) int {
	skip := 0
	switch n.Op {
	case "If", "StatelessIf", "Case", "StatelessCase":
		skip = 1
	case "While", "StatelessWhile":
		w := c.iterations(n)
		if k >= len(w) {
			return none
		}
		return slices.Max(append(w[k], none))
	case "PartitionedCall", "StatefulPartitionedCall":
	default:
		if c.m.Functions[n.Op] == nil {
			return 1 // results of datasets are one level deeper
		}
	}
	deepest := none
	for _, callee := range callees {
		rows := c.function(callee)
		if i := k - skip; i >= 0 && i < len(rows) {
			deepest = max(deepest, slices.Max(append(slices.Clone(rows[i]), none)))
		}
	}
	return deepest
}

// iterations returns how much deeper each variable of a loop can be than each other
// after any number of iterations, provided that the loop does not deepen them.
func (c *nesting) iterations(n metagraph.Node) [][]int {
	bodies := n.FunctionsOf("body")
	if len(bodies) != 1 || c.m.Functions[bodies[0]] == nil {
		return nil
	}
	w := closure(c.function(bodies[0]))
	for i := range w {
		if i < len(w[i]) {
			w[i][i] = max(w[i][i], 0) // zero iterations
		}
	}
	return w
}

// closure returns the deepest paths with any number of steps.
func closure(steps [][]int) [][]int {
	w := make([][]int, len(steps))
	for i := range steps {
		w[i] = slices.Clone(steps[i])
	}
	for k := range w {
		for i := range w {
			if k >= len(w[i]) || w[i][k] == none {
				continue
			}
			for j := range w[i] {
				if j < len(w[k]) && w[k][j] != none {
					w[i][j] = max(w[i][j], min(w[i][k]+w[k][j], 1<<20))
				}
			}
		}
	}
	return w
}

// deepens reports whether a variable of a loop becomes deeper in each iteration.
func deepens(w [][]int) bool {
	for i := range w {
		if i < len(w[i]) && w[i][i] > 0 {
			return true
		}
	}
	return false
}

// states are dataset operations that pass the results of a function back to it, with
// the attribute for the function.
var states = map[string]string{"ReduceDataset": "f", "ScanDataset": "f", "GroupByReducerDataset": "reduce_func"}

// loops refuses loops of a body that nest variants.
func (c *nesting) loops(b *body) {
	var heads []metagraph.Node // heads of TensorFlow 1's loops
	for _, n := range b.nodes {
		if attr := states[n.Op]; attr != "" {
			types, _ := message.AttrTypes(n.Attr("Tstate"))
			for _, name := range n.FunctionsOf(attr) {
				if c.m.Functions[name] == nil {
					continue
				}
				rows := c.function(name)
				rows = rows[:min(len(types), len(rows))]
				if deepens(closure(rows)) {
					c.refuse(b, n)
				}
			}
		}
		switch n.Op {
		case "While", "StatelessWhile":
			for _, name := range n.FunctionsOf("body") {
				if c.m.Functions[name] != nil && deepens(closure(c.function(name))) {
					c.refuse(b, n)
				}
			}
		case "Merge", "RefMerge":
			t, _ := message.AttrType(n.Attr("T"))
			if mayBeVariant(t) && slices.ContainsFunc(n.DataInputs(), func(in string) bool {
				at, ok := b.at[b.producer(in)]
				return ok && turnsBack(b.nodes[at])
			}) {
				heads = append(heads, n)
			}
		}
	}
	w := make([][]int, len(heads))
	for i, head := range heads {
		depths := c.depths(b, head.Name)
		for _, other := range heads {
			step := none
			for _, in := range other.DataInputs() {
				from := b.producer(in)
				if at, ok := b.at[from]; ok && turnsBack(b.nodes[at]) {
					if depth, ok := depths[from]; ok {
						step = max(step, depth)
					}
				}
			}
			w[i] = append(w[i], step)
		}
	}
	if deepens(closure(w)) {
		c.refuse(b, heads[0])
	}
}

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}
