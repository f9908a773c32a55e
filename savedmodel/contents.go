package savedmodel

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
)

// checkTensors looks at every constant, wherever it stands in the graph.
//
// A constant of dtype resource names a variable, table or file handle by a string.
// So it is a way to a variable that the variable's own operation does not show. A
// constant of strings may have two contents at once: TensorFlow takes one, and
// another reader may take the other.
func (j *judgement) checkTensors() error {
	return eachMessage(j.m.graphDef, graphDefType(), func(b []byte, m *messageType) error {
		if m.name == "AttrValue" {
			return j.checkReference(b)
		}
		if m.name != "TensorProto" {
			return nil
		}
		var typ int32
		var content, text bool
		for f := range fieldsOf(b) {
			switch f.num {
			case tensorType:
				typ = int32(f.number)
			case tensorContent:
				content = true
			case tensorStrings:
				text = true
			case tensorHandles:
				return j.r.unsafe("a constant of dtype resource: it names what no operation of the graph holds")
			case tensorVariants:
				name, _ := attrField(f.bytes, variantType)
				if string(name.bytes) != tensorListType {
					return j.r.unsafe("a constant of dtype variant that holds %s, which cannot be checked", quote(string(name.bytes)))
				}
				if what := checkTensorList(f.bytes); what != "" {
					return j.r.unsafe("a constant of dtype variant that holds a list of tensors: %s", what)
				}
			}
		}
		switch {
		case content && dtype.DataType(typ).Base() == dtype.Variant:
			return j.r.unsafe("a constant of dtype variant that is written as content, which cannot be checked")
		case dtype.DataType(typ).Base() == dtype.Resource:
			return j.r.unsafe("a constant of dtype resource: it names what no operation of the graph holds")
		case content && text:
			return j.r.unsafe("a constant of strings has two contents, of which TensorFlow uses one")
		}
		return nil
	})
}

// checkReference refuses an attribute whose type is a reference. TensorFlow never writes
// one: an operation's own declaration says which of its inputs are references. With one,
// Identity would be a way to a variable that this package takes for a copy.
func (j *judgement) checkReference(attr []byte) error {
	types, _ := attrTypes(attr)
	if t, ok := attrType(attr); ok {
		types = append(types, t)
	}
	for _, t := range types {
		if d := dtype.DataType(t); d.Base() != d {
			return j.r.unsafe("an attribute of type %s: only operations declare references", d)
		}
	}
	return nil
}

// checkPlaceholders refuses attributes whose value the caller of a function gives,
// unless they are types, numbers or shapes. Otherwise it would not be known which
// functions and names the function uses.
func (j *judgement) checkPlaceholders() error {
	for _, name := range slices.Sorted(maps.Keys(j.m.nodes)) {
		if at := unresolved(j.m.nodes[name], nil); at != "" {
			return j.r.unsafe("node %s leaves attribute %s to a caller, and has none", quote(name), quote(at))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.m.functions)) {
		fn := j.m.functions[name]
		for _, b := range fn.nodes {
			if at := unresolved(b, fn.attrs); at != "" {
				return j.r.unsafe("node %s of function %s leaves attribute %s to the function's callers; only types, numbers and shapes may be left to them",
					quote(nameOf(b)), quote(name), quote(at))
			}
		}
	}
	return nil
}

// unresolved returns the first attribute that a node leaves to a caller without
// declaring it a type, number or shape. It also looks at what is bound to the
// node's attributes.
func unresolved(node []byte, declared map[string]string) string {
	at := ""
	eachMessage(node, nodeDefType(), func(b []byte, m *messageType) error { //nolint:errcheck // visit returns none
		if m.name != "AttrValue" || at != "" {
			return nil
		}
		f, ok := attrField(b, attrPlaceholderField)
		if !ok {
			return nil
		}
		typ := declared[string(f.bytes)]
		typ = strings.TrimSuffix(strings.TrimPrefix(typ, "list("), ")")
		switch typ {
		case "type", "int", "float", "bool", "shape":
		default:
			at = string(f.bytes)
		}
		return nil
	})
	return at
}

// checkNode refuses nodes that end the process when TensorFlow imports them.
func (j *judgement) checkNode(n nodeDef) error {
	counts := countAttrs(n.op)
	if fn := j.m.functions[n.op]; fn != nil {
		counts = fn.counts
	}
	for _, name := range counts {
		if v, ok := attrInt(n.attr(name)); ok && (v < 0 || v > maxOutputs) {
			return j.r.limit("node %s (%s): attribute %s is %d: an input or output repeats at most %d times",
				quote(n.name), quote(n.op), quote(name), v, maxOutputs)
		}
	}
	if err := j.checkConst(n); err != nil {
		return err
	}
	if err := (callCheck{j}).check(n); err != nil {
		return err
	}
	return j.checkMerge(n)
}

// checkConst refuses constants of another dtype than the node has. Shape functions take
// the constant for what the node says, and that of StridedSlice ends the process.
func (j *judgement) checkConst(n nodeDef) error {
	value, ok := attrField(n.attr("value"), attrTensorField)
	if !ok || n.op != "Const" && n.op != "HostConst" {
		return nil
	}
	typ, _ := attrField(value.bytes, tensorType)
	has := dtype.DataType(int32(typ.number))
	switch says, ok := attrType(n.attr("dtype")); {
	case ok && dtype.DataType(says) != has:
		return j.r.fail("node %s (%s) has dtype %s, and its value has %s", quote(n.name), quote(n.op), dtype.DataType(says), has)
	case ok:
		return nil
	}
	if _, ok := attrField(n.attr("dtype"), attrPlaceholderField); ok {
		return j.r.fail("node %s (%s) leaves its dtype to the callers of a function, and has a value of %s", quote(n.name), quote(n.op), has)
	}
	return nil
}

// checkMerge refuses the head of a loop with more than one entry. TensorFlow
// counts a single one, and a check of its own fails on the second.
func (j *judgement) checkMerge(n nodeDef) error {
	if n.op != "Merge" && n.op != "RefMerge" {
		return nil
	}
	entries, loops := 0, 0
	for _, in := range n.dataInputs() {
		from, _ := j.m.node(parseRef(in).node)
		if from.op == "NextIteration" || from.op == "RefNextIteration" {
			loops++
		} else {
			entries++
		}
	}
	if loops > 0 && entries > 1 {
		return j.r.fail("node %s (%s) begins a loop that is entered in %d places, not one", quote(n.name), quote(n.op), entries)
	}
	return nil
}

// Some kernels take whatever amount they get. A million threads stop the machine. A
// buffer of more elements than memory ends the process, because the kernel reserves
// it and nobody catches the exception. What is checked here is what a model says; an
// amount that a request gives, such as the size of a TensorArray, is not.

// amounts are attributes with the largest value that a model may ask for.
var amounts = map[string]map[string]int64{
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

// maxIterations is the largest number of iterations of a loop that may run at once. The
// frame of a loop reserves room for each.
const maxIterations = 1 << 16

// least are attributes with the smallest value that a model may ask for.
var least = map[string]map[string]int64{
	"Conv": {"batch_dims": 0}, "CustomAggregator": {"num_bins": 0},
	"Enter": {"parallel_iterations": 1}, "RefEnter": {"parallel_iterations": 1}, "StatelessWhile": {"parallel_iterations": 1}, "While": {"parallel_iterations": 1},
}

// maxReserved is the largest number of elements that a dataset may reserve.
const maxReserved = 1 << 24

// reserved are inputs that say how many elements a dataset reserves. They have to be
// constants, scalars of at most maxReserved.
var reserved = map[string]int{
	"DenseToSparseBatchDataset": 1, "ExperimentalDenseToSparseBatchDataset": 1,
	"SlidingWindowDataset": 1, "ExperimentalSlidingWindowDataset": 1,
	"ShuffleDataset": 1, "ShuffleDatasetV2": 1, "ShuffleDatasetV3": 1, "ShuffleAndRepeatDataset": 1, "ShuffleAndRepeatDatasetV2": 1,
}

// interleaves are the operations whose cycle length follows the arguments of their
// function, which is as long as the attribute Targuments.
var interleaves = map[string]bool{"InterleaveDataset": true, "ParallelInterleaveDataset": true, "ParallelInterleaveDatasetV2": true,
	"ParallelInterleaveDatasetV3": true, "ParallelInterleaveDatasetV4": true, "LegacyParallelInterleaveDatasetV2": true,
	"ExperimentalParallelInterleaveDataset": true}

// memoryAttrs are private attributes by which TensorFlow's own rewrites have a node
// share memory. A kernel that does not find that memory ends the process.
var memoryAttrs = []string{"_scoped_allocator", "_forward_input"}

// amountCheck checks the amounts that a judged graph states.
type amountCheck struct{ *judgement }

// check refuses a node that asks for more than its kernel survives; fn is the
// function that it is in, nil for the main graph.
func (j amountCheck) check(fn *function, n nodeDef) error {
	for _, name := range memoryAttrs {
		if n.attr(name) != nil {
			return j.r.unsafe("node %s (%s) has the attribute %s, which only TensorFlow itself sets", quote(n.name), quote(n.op), name)
		}
	}
	for name, most := range amounts[n.op] {
		v := n.attr(name)
		if _, left := attrField(v, attrPlaceholderField); left {
			return j.r.limit("node %s (%s): attribute %s is left to the caller of a function; the model has to give it as a number",
				quote(n.name), quote(n.op), quote(name))
		}
		if value, ok := attrInt(v); ok && value > most {
			return j.r.limit("node %s (%s): attribute %s is %d, at most %d is allowed", quote(n.name), quote(n.op), quote(name), value, most)
		}
	}
	for name, from := range least[n.op] {
		if v, ok := attrInt(n.attr(name)); ok && v < from {
			return j.r.limit("node %s (%s): attribute %s is %d, at least %d is needed", quote(n.name), quote(n.op), quote(name), v, from)
		}
	}
	if err := j.checkWindow(n); err != nil {
		return err
	}
	input, ok := reserved[n.op]
	if interleaves[n.op] {
		arguments, known := attrTypes(n.attr("Targuments"))
		if input, ok = 1+len(arguments), true; !known {
			return j.r.limit("node %s (%s): the attribute Targuments is not a list of types", quote(n.name), quote(n.op))
		}
	}
	if in := n.dataInputs(); ok && (input >= len(in) || !j.isAmount(fn, in[input])) {
		return j.r.limit("node %s (%s): input %d is not a constant of at most %d, and the dataset reserves that many elements",
			quote(n.name), quote(n.op), input, maxReserved)
	}
	if n.op == "SparseCrossHashed" && !j.crossesWithScalars(fn, n) {
		return j.r.limit("node %s (%s): the number of buckets is not a constant scalar", quote(n.name), quote(n.op))
	}
	return nil
}

// checkWindow refuses a convolution whose strides or dilations are not one for each
// dimension of an image or a volume, or not positive. Kernels and rewrites read the
// missing ones, and divide by them.
func (j amountCheck) checkWindow(n nodeDef) error {
	if n.op == "Conv" || !strings.Contains(n.op, "Conv2") && !strings.Contains(n.op, "Conv3D") && !strings.HasPrefix(n.op, "DepthwiseConv2") {
		return nil
	}
	for _, name := range []string{"strides", "dilations"} {
		list, ok := attrField(n.attr(name), attrListField)
		count := 0
		for f := range fieldsOf(list.bytes) {
			for _, v := range f.numbersIn() {
				if int64(v) <= 0 {
					return j.r.limit("node %s (%s): the attribute %s has the number %d; it must be positive", quote(n.name), quote(n.op), name, int64(v))
				}
				count++
			}
		}
		if ok && count != 4 && count != 5 {
			return j.r.limit("node %s (%s): the attribute %s has %d numbers, not 4 or 5", quote(n.name), quote(n.op), name, count)
		}
	}
	return nil
}

// crossesWithScalars reports whether the number of buckets of SparseCrossHashed, the
// third input from the end, is a scalar.
func (j amountCheck) crossesWithScalars(fn *function, n nodeDef) bool {
	in := n.dataInputs()
	if len(in) < 3 {
		return false
	}
	shape, _, ok := j.constantOf(fn, in[len(in)-3])
	return ok && len(shape) == 0
}

// isAmount reports whether an input is a constant scalar of at most maxReserved.
func (j amountCheck) isAmount(fn *function, input string) bool {
	shape, values, ok := j.constantOf(fn, input)
	return ok && len(shape) == 0 && len(values) <= 1 && (len(values) == 0 || int64(values[0]) <= maxReserved)
}

// tensorLongs is the field of TensorProto with numbers of int64.
const tensorLongs = protowire.Number(10)

// constantOf returns the dimensions of a constant of int64 that is an input, and its
// values; ok is false for everything else.
func (j amountCheck) constantOf(fn *function, input string) (shape []wireField, values []uint64, ok bool) {
	if fn == nil && j.fed[parseRef(input).String()] {
		return nil, nil, false
	}
	n, _, ok := j.producer(fn, input)
	value, has := attrField(n.attr("value"), attrTensorField)
	if !ok || n.op != "Const" || !has {
		return nil, nil, false
	}
	for f := range fieldsOf(value.bytes) {
		switch f.num {
		case tensorShape:
			for d := range fieldsOf(f.bytes) {
				shape = append(shape, d)
			}
		case tensorLongs:
			values = append(values, f.numbersIn()...)
		case tensorContent:
			if len(f.bytes) != 8 {
				return nil, nil, false
			}
			var v uint64
			for i, b := range f.bytes {
				v |= uint64(b) << (8 * i)
			}
			values = append(values, v)
		}
	}
	return shape, values, true
}
