package policy

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// contentCheck checks the contents of the nodes of a graph.
type contentCheck struct{ *callGraph }

// checkTensors looks at every constant, wherever it stands in the graph.
//
// A constant of dtype resource names a variable, table or file handle by a string. So
// it gives access to a variable without the variable's own operation. A constant of
// strings may have two contents at once: TensorFlow reads one, and another reader may
// read the other.
func (c contentCheck) checkTensors() error {
	var total uint64
	return message.Each(c.m.GraphDef, message.GraphDefType(), func(b []byte, m *message.Type) error {
		if m.Name == "AttrValue" {
			return c.checkReference(b)
		}
		if m.Name != "TensorProto" {
			return nil
		}
		var typ int32
		var content, text bool
		for f := range wire.Fields(b) {
			switch f.Num {
			case metagraph.TensorType:
				typ = int32(f.Number)
			case metagraph.TensorContent:
				content = true
			case metagraph.TensorStrings:
				text = true
			case metagraph.TensorHandles:
				return c.r.Unsafe("a constant of dtype resource: it names what no operation of the graph holds")
			case metagraph.TensorVariants:
				name, _ := message.Find(f.Bytes, variantType)
				if string(name.Bytes) != tensorListType {
					return c.r.Unsafe("a constant of dtype variant that holds %s, which cannot be checked", modelfile.Quote(string(name.Bytes)))
				}
				if what := checkTensorList(f.Bytes); what != "" {
					return c.r.Unsafe("a constant of dtype variant that holds a list of tensors: %s", what)
				}
			}
		}
		if err := c.checkSize(b, typ, &total); err != nil {
			return err
		}
		switch {
		case content && dtype.DataType(typ).Base() == dtype.Variant:
			return c.r.Unsafe("a constant of dtype variant that is written as content, which cannot be checked")
		case dtype.DataType(typ).Base() == dtype.Resource:
			return c.r.Unsafe("a constant of dtype resource: it names what no operation of the graph holds")
		case content && text:
			return c.r.Unsafe("a constant of strings has two contents, of which TensorFlow uses one")
		}
		return nil
	})
}

// The maximum memory of one constant, and of all constants. One value in a file may
// represent all elements of a tensor.
const (
	maxConstantBytes  = 2 << 30
	maxConstantsBytes = 8 << 30
)

// checkSize refuses a constant that is larger in memory than a model needs. total counts
// the bytes of all.
func (c contentCheck) checkSize(tensor []byte, typ int32, total *uint64) error {
	shape, _ := message.Find(tensor, tensorShape)
	size := uint64(max(dtype.DataType(typ).Size(), 1))
	if dtype.DataType(typ) == dtype.String {
		size = 24
	}
	for f := range wire.Fields(shape.Bytes) {
		if f.Num == shapeDim {
			n, _ := message.Find(f.Bytes, dimSize)
			if high, low := bits.Mul64(size, n.Number); high > 0 || low > maxConstantBytes {
				return c.r.Limit("a constant of more than %d bytes in memory", int64(maxConstantBytes))
			}
			size *= n.Number
		}
	}
	if *total += size; *total > maxConstantsBytes {
		return c.r.Limit("constants of more than %d bytes in memory", int64(maxConstantsBytes))
	}
	return nil
}

// checkReference refuses an attribute whose type is a reference. TensorFlow never
// writes one: an operation's own declaration says which of its inputs are references.
// With one, Identity would give access to a variable, while this package assumes a
// copy.
func (c contentCheck) checkReference(attr []byte) error {
	types, _ := message.AttrTypes(attr)
	if t, ok := message.AttrType(attr); ok {
		types = append(types, t)
	}
	for _, t := range types {
		if d := dtype.DataType(t); d.Base() != d {
			return c.r.Unsafe("an attribute of type %s: only operations declare references", d)
		}
	}
	return nil
}

// checkPlaceholders refuses attributes whose value a function's caller sets, unless
// they are types, numbers or shapes. Otherwise the functions and names that the
// function uses would be unknown.
func (c contentCheck) checkPlaceholders() error {
	for _, name := range slices.Sorted(maps.Keys(c.m.Nodes)) {
		if at := unresolved(c.m.Nodes[name], nil); at != "" {
			return c.r.Unsafe("node %s leaves attribute %s to a caller, and has none", modelfile.Quote(name), modelfile.Quote(at))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.m.Functions)) {
		fn := c.m.Functions[name]
		for _, b := range fn.Nodes {
			if at := unresolved(b, fn.Attrs); at != "" {
				return c.r.Unsafe("node %s of function %s leaves attribute %s to the function's callers; only types, numbers and shapes may be left to them",
					modelfile.Quote(metagraph.NameOf(b)), modelfile.Quote(name), modelfile.Quote(at))
			}
		}
	}
	return nil
}

// unresolved returns the first attribute that a node leaves to a caller without
// declaring it a type, number or shape. It also checks values bound to the node's
// attributes.
func unresolved(node []byte, declared map[string]string) string {
	at := ""
	message.Each(node, message.NodeDefType(), func(b []byte, m *message.Type) error { //nolint:errcheck // visit returns none
		if m.Name != "AttrValue" || at != "" {
			return nil
		}
		f, ok := message.Find(b, message.AttrPlaceholderField)
		if !ok {
			return nil
		}
		typ := declared[string(f.Bytes)]
		typ = strings.TrimSuffix(strings.TrimPrefix(typ, "list("), ")")
		switch typ {
		case "type", "int", "float", "bool", "shape":
		default:
			at = string(f.Bytes)
		}
		return nil
	})
	return at
}

// checkNode refuses nodes that end the process when TensorFlow imports them.
func (c contentCheck) checkNode(n metagraph.Node) error {
	counts := metagraph.CountAttrs(n.Op)
	if fn := c.m.Functions[n.Op]; fn != nil {
		counts = fn.Counts
	}
	for _, name := range counts {
		if v, ok := message.AttrInt(n.Attr(name)); ok && (v < 0 || v > metagraph.MaxOutputs) {
			return c.r.Limit("node %s (%s): attribute %s is %d: an input or output repeats at most %d times",
				modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(name), v, metagraph.MaxOutputs)
		}
	}
	if err := c.checkConst(n); err != nil {
		return err
	}
	if err := callCheck(c).check(n); err != nil {
		return err
	}
	if err := callCheck(c).checkCondition(n); err != nil {
		return err
	}
	if err := recursionCheck(c).checkKeeper(n); err != nil {
		return err
	}
	if err := c.checkHandles(n); err != nil {
		return err
	}
	return c.checkMerge(n)
}

// handlePasses are operations that pass handles on as they are, one at a time.
var handlePasses = words(`Case Const Copy CopyHost DeepCopy EnsureShape Enter Exit Identity IdentityN If Merge NextIteration PartitionedCall Placeholder PlaceholderV2 PlaceholderWithDefault
	PreventGradient RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSwitch RemoteCall Snapshot StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile
	StopGradient Switch While`)

// checkHandles refuses operations that make tensors of handles with other shapes. An
// operation takes the first handle of such a tensor without a look at its shape, and
// reads outside of an empty one.
func (c contentCheck) checkHandles(n metagraph.Node) error {
	if handlePasses[n.Op] || c.allowed[n.Op] || c.m.Functions[n.Op] != nil || !slices.ContainsFunc(strings.Fields(metagraph.OpOutputs()[n.Op]), fromAttr) {
		return nil
	}
	types, _ := metagraph.OutputTypes(n)
	if slices.Contains(types, int32(dtype.Resource)) {
		return c.r.Unsafe("node %s (%s) makes a tensor of handles, which may be empty; handles may only be passed on", modelfile.Quote(n.Name), modelfile.Quote(n.Op))
	}
	return nil
}

// fromAttr reports whether an attribute gives the type of an output in the form of
// metagraph.OpOutputs.
func fromAttr(token string) bool { return token[0] != '#' && !strings.Contains(token, "=") }

// checkConst refuses constants of another dtype than the node has. Shape functions
// assume the node's dtype, and the one of StridedSlice ends the process.
func (c contentCheck) checkConst(n metagraph.Node) error {
	value, ok := message.Find(n.Attr("value"), message.AttrTensorField)
	if !ok || n.Op != "Const" && n.Op != "HostConst" {
		return nil
	}
	typ, _ := message.Find(value.Bytes, metagraph.TensorType)
	has := dtype.DataType(int32(typ.Number))
	switch says, ok := message.AttrType(n.Attr("dtype")); {
	case ok && dtype.DataType(says) != has:
		return c.r.Fail("node %s (%s) has dtype %s, and its value has %s", modelfile.Quote(n.Name), modelfile.Quote(n.Op), dtype.DataType(says), has)
	case ok:
		return nil
	}
	if _, ok := message.Find(n.Attr("dtype"), message.AttrPlaceholderField); ok {
		return c.r.Fail("node %s (%s) leaves its dtype to the callers of a function, and has a value of %s", modelfile.Quote(n.Name), modelfile.Quote(n.Op), has)
	}
	return nil
}

// checkMerge refuses the head of a loop with more than one entry. TensorFlow assumes a
// single one, and fails an internal check on the second.
func (c contentCheck) checkMerge(n metagraph.Node) error {
	if n.Op != "Merge" && n.Op != "RefMerge" {
		return nil
	}
	entries, loops := 0, 0
	for _, in := range n.DataInputs() {
		from, _ := c.m.Node(metagraph.ParseRef(in).Node)
		if from.Op == "NextIteration" || from.Op == "RefNextIteration" {
			loops++
		} else {
			entries++
		}
	}
	if loops > 0 && entries > 1 {
		return c.r.Fail("node %s (%s) begins a loop that is entered in %d places, not one", modelfile.Quote(n.Name), modelfile.Quote(n.Op), entries)
	}
	return nil
}

// Some kernels accept any amount. A million threads stop the machine. A buffer that is
// larger than the memory ends the process, because the kernel reserves it and does not
// catch the exception. Only amounts in the model are checked here, not amounts from a
// request, such as the size of a TensorArray.

// amounts are attributes with their maximum values.
var amounts = map[string]map[string]int64{
	"GatherV2":                            {"batch_dims": maxBatchDims},
	"ResourceGather":                      {"batch_dims": maxBatchDims},
	"AsString":                            {"precision": 1 << 12, "width": 1 << 12},
	"AudioSpectrogram":                    {"window_size": 1 << 24, "stride": 1 << 30},
	"Batch":                               {"num_batch_threads": 1 << 10},
	"BatchFunction":                       {"num_batch_threads": 1 << 10},
	"Enter":                               {"parallel_iterations": maxIterations},
	"LearnedUnigramCandidateSampler":      {"range_max": 1 << 24},
	"RefEnter":                            {"parallel_iterations": maxIterations},
	"StatelessWhile":                      {"parallel_iterations": maxIterations},
	"ThreadUnsafeUnigramCandidateSampler": {"range_max": 1 << 24},
	"While":                               {"parallel_iterations": maxIterations},
}

// maxBatchDims is the largest number of batch dimensions of a Gather.
const maxBatchDims = 16

// maxIterations is the largest number of iterations of a loop that may run at once. The
// frame of a loop reserves memory for each.
const maxIterations = 1 << 16

// least are attributes with their minimum values.
var least = map[string]map[string]int64{
	"CustomAggregator": {"num_bins": 0}, "GatherV2": {"batch_dims": -maxBatchDims}, "ResourceGather": {"batch_dims": -maxBatchDims},
	"Enter": {"parallel_iterations": 1}, "RefEnter": {"parallel_iterations": 1}, "StatelessWhile": {"parallel_iterations": 1}, "While": {"parallel_iterations": 1},
}

// maxReserved is the largest number of elements that a dataset may reserve.
const maxReserved = 1 << 24

// reserved are the inputs with the number of elements that a dataset reserves. They
// must be constant scalars of at most maxReserved.
var reserved = map[string]int{
	"DenseToSparseBatchDataset": 1, "ExperimentalDenseToSparseBatchDataset": 1,
	"SlidingWindowDataset": 1, "ExperimentalSlidingWindowDataset": 1,
	"ShuffleDataset": 1, "ShuffleDatasetV2": 1, "ShuffleDatasetV3": 1, "ShuffleAndRepeatDataset": 1, "ShuffleAndRepeatDatasetV2": 1,
}

// interleaves are the operations whose cycle length follows the arguments of their
// function, whose number is the length of the attribute Targuments.
var interleaves = map[string]bool{"InterleaveDataset": true, "ParallelInterleaveDataset": true, "ParallelInterleaveDatasetV2": true,
	"ParallelInterleaveDatasetV3": true, "ParallelInterleaveDatasetV4": true, "LegacyParallelInterleaveDatasetV2": true,
	"ExperimentalParallelInterleaveDataset": true}

// memoryAttrs are private attributes with which TensorFlow's own rewrites make a node
// share memory. A kernel that does not find that memory ends the process.
var memoryAttrs = []string{"_scoped_allocator", "_forward_input"}

// amountCheck checks the amounts in a graph.
type amountCheck struct{ *tracer }

// check refuses a node that requests more than its kernel survives; fn is the function
// that contains it, nil for the main graph.
func (c amountCheck) check(fn *metagraph.Function, n metagraph.Node) error {
	for _, name := range memoryAttrs {
		if n.Attr(name) != nil {
			return c.r.Unsafe("node %s (%s) has the attribute %s, which only TensorFlow itself sets", modelfile.Quote(n.Name), modelfile.Quote(n.Op), name)
		}
	}
	for name, most := range amounts[n.Op] {
		v := n.Attr(name)
		if _, left := message.Find(v, message.AttrPlaceholderField); left {
			return c.r.Limit("node %s (%s): attribute %s is left to the caller of a function; the model has to give it as a number",
				modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(name))
		}
		if value, ok := message.AttrInt(v); ok && value > most {
			return c.r.Limit("node %s (%s): attribute %s is %d, at most %d is allowed", modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(name), value, most)
		}
	}
	for name, from := range least[n.Op] {
		if v, ok := message.AttrInt(n.Attr(name)); ok && v < from {
			return c.r.Limit("node %s (%s): attribute %s is %d, at least %d is needed", modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(name), v, from)
		}
	}
	if err := c.checkWindow(n); err != nil {
		return err
	}
	if err := c.checkTypes(n); err != nil {
		return err
	}
	input, ok := reserved[n.Op]
	if interleaves[n.Op] {
		arguments, known := message.AttrTypes(n.Attr("Targuments"))
		if input, ok = 1+len(arguments), true; !known {
			return c.r.Limit("node %s (%s): the attribute Targuments is not a list of types", modelfile.Quote(n.Name), modelfile.Quote(n.Op))
		}
	}
	if in := n.DataInputs(); ok && (input >= len(in) || !c.isAmount(fn, in[input])) {
		return c.r.Limit("node %s (%s): input %d is not a constant of at most %d, and the dataset reserves that many elements",
			modelfile.Quote(n.Name), modelfile.Quote(n.Op), input, maxReserved)
	}
	if err := c.checkGather(fn, n); err != nil {
		return err
	}
	if n.Op == "SparseCrossHashed" && !c.crossesWithScalars(fn, n) {
		return c.r.Limit("node %s (%s): the number of buckets and whether the hash is strong are not constant scalars, or it is strong", modelfile.Quote(n.Name), modelfile.Quote(n.Op))
	}
	return c.checkShapes(n)
}

// checkWindow refuses a convolution unless its strides and dilations are positive, one
// for each dimension of an image or a volume. Kernels and rewrites read the missing
// ones, and divide by them.
func (c amountCheck) checkWindow(n metagraph.Node) error {
	if !strings.Contains(n.Op, "Conv2") && !strings.Contains(n.Op, "Conv3D") && !strings.HasPrefix(n.Op, "DepthwiseConv2") {
		return nil
	}
	want := 4
	if strings.Contains(n.Op, "Conv3D") {
		want = 5
	}
	for _, name := range []string{"strides", "dilations"} {
		list, ok := message.Find(n.Attr(name), message.AttrListField)
		count := 0
		for f := range wire.Fields(list.Bytes) {
			for _, v := range f.Numbers() {
				if int64(v) <= 0 || v > math.MaxInt32 {
					return c.r.Limit("node %s (%s): the attribute %s has the number %d; it must be positive, and fit into 32 bits", modelfile.Quote(n.Name), modelfile.Quote(n.Op), name, int64(v))
				}
				count++
			}
		}
		if ok && count != want {
			return c.r.Limit("node %s (%s): the attribute %s has %d numbers, not %d", modelfile.Quote(n.Name), modelfile.Quote(n.Op), name, count, want)
		}
	}
	return nil
}

// sound are the types that the kernel of an operation survives, by attribute: scattered
// divisions divide integers without a look at the divisor, the binomial generator
// reads a shape of int64 as int32, and crosses of ragged tensors make splits of int64.
var sound = map[string]struct {
	attr  string
	types []dtype.DataType
}{
	"ResourceScatterDiv":     {"dtype", fractions},
	"ScatterDiv":             {"T", fractions},
	"StatefulRandomBinomial": {"S", []dtype.DataType{dtype.Int32}},
	"RaggedCross":            {"out_row_splits_type", []dtype.DataType{dtype.Int64}},
}

var fractions = []dtype.DataType{dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double, dtype.Complex64, dtype.Complex128}

// checkTypes refuses an operation whose kernel ends the process for its types.
func (c amountCheck) checkTypes(n metagraph.Node) error {
	s, ok := sound[n.Op]
	if !ok {
		return nil
	}
	if t, ok := message.AttrType(n.Attr(s.attr)); !ok || !slices.Contains(s.types, dtype.DataType(t)) {
		return c.r.Limit("node %s (%s): the attribute %s is %s; TensorFlow's kernel is safe for %s only", modelfile.Quote(n.Name), modelfile.Quote(n.Op), s.attr, dtype.DataType(t), s.types)
	}
	return nil
}

// crossesWithScalars reports whether the number of buckets of SparseCrossHashed, the
// third input from the end, is a scalar.
func (c amountCheck) crossesWithScalars(fn *metagraph.Function, n metagraph.Node) bool {
	in := n.DataInputs()
	if len(in) < 3 {
		return false
	}
	shape, _, ok := c.constantOf(fn, in[len(in)-3])
	return ok && len(shape) == 0 && c.isFalse(fn, in[len(in)-2])
}

// isAmount reports whether an input is a constant scalar of at most maxReserved.
func (c amountCheck) isAmount(fn *metagraph.Function, input string) bool {
	shape, values, ok := c.constantOf(fn, input)
	return ok && len(shape) == 0 && len(values) <= 1 && (len(values) == 0 || int64(values[0]) <= maxReserved)
}

// tensorLongs is the field of TensorProto with numbers of int64.
const tensorLongs = protowire.Number(10)

// constantOf returns the dimensions and values of an input that is a constant of int64;
// ok is false for all other inputs.
func (c amountCheck) constantOf(fn *metagraph.Function, input string) (shape []wire.Field, values []uint64, ok bool) {
	if fn == nil && c.fed[metagraph.ParseRef(input).String()] {
		return nil, nil, false
	}
	n, _, ok := c.producer(fn, input)
	value, has := message.Find(n.Attr("value"), message.AttrTensorField)
	if !ok || n.Op != "Const" || !has {
		return nil, nil, false
	}
	for f := range wire.Fields(value.Bytes) {
		switch f.Num {
		case tensorShape:
			for d := range wire.Fields(f.Bytes) {
				shape = append(shape, d)
			}
		case tensorLongs:
			values = append(values, f.Numbers()...)
		case metagraph.TensorContent:
			if len(f.Bytes) != 8 {
				return nil, nil, false
			}
			var v uint64
			for i, b := range f.Bytes {
				v |= uint64(b) << (8 * i)
			}
			values = append(values, v)
		}
	}
	return shape, values, true
}
