package opeffect

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/base/tfproto"
)

// Data types, by short names.
const (
	f32      = tfproto.DataType_DT_FLOAT
	i32      = tfproto.DataType_DT_INT32
	i64      = tfproto.DataType_DT_INT64
	str      = tfproto.DataType_DT_STRING
	boolean  = tfproto.DataType_DT_BOOL
	resource = tfproto.DataType_DT_RESOURCE
	variant  = tfproto.DataType_DT_VARIANT
)

// maker makes a real handle: a node with the output "handle". Attribute values "?" take
// the dtype that most of the graph has, and "??" any other.
type maker struct {
	fits   string // beginnings of the names of operations that take such a handle
	op     string
	inputs string // kinds of inputs: d dataset, l list, i int32, I int64, s string, x the dtype, b bool, v variable; uppercase digits are vectors
	attrs  string
	then   string // an operation that fills it: OP INPUTS ATTRS
}

// makers of resources, and of strings that stand for resources.
var resources = []maker{
	{"Resource Assign Read Var Destroy Disable Stateful Rng Identity", "VarHandleOp", "", "dtype=? shape=? shared_name=U", "AssignVariableOp hx dtype=?"},
	{"Resource Assign Read Var", "VarHandleOp", "", "dtype=?? shape=? shared_name=U", "AssignVariableOp hz dtype=??"},
	{"Stateful Rng Resource", "VarHandleOp", "", "dtype=int64 shape=[3] shared_name=U", "AssignVariableOp hR dtype=int64"},
	{"Resource Assign Var", "VarHandleOp", "", "dtype=? shape=? shared_name=U", ""},
	{"Lookup InitializeTable", "HashTableV2", "", "key_dtype=string value_dtype=int64 shared_name=U", ""},
	{"Lookup InitializeTable", "HashTableV2", "", "key_dtype=string value_dtype=int64 shared_name=U", "LookupTableImportV2 hSL Tin=string Tout=int64"},
	{"Lookup", "MutableHashTableV2", "", "key_dtype=? value_dtype=? shared_name=U", "LookupTableImportV2 hXX Tin=? Tout=?"},
	{"Lookup", "MutableHashTableV2", "", "key_dtype=? value_dtype=?? shared_name=U", "LookupTableImportV2 hXZ Tin=? Tout=??"},
	{"Lookup", "MutableHashTableV2", "", "key_dtype=string value_dtype=float shared_name=U", "LookupTableInsertV2 hSF Tin=string Tout=float"},
	{"Lookup", "MutableHashTableOfTensorsV2", "", "key_dtype=string value_dtype=float value_shape=[2] shared_name=U", ""},
	{"Lookup", "MutableDenseHashTableV2", "IJ", "key_dtype=int64 value_dtype=float value_shape=? shared_name=U", "LookupTableInsertV2 hIF Tin=int64 Tout=float"},
	{"Queue", "FIFOQueueV2", "", "component_types=[?] shapes=? capacity=9 shared_name=U", "QueueEnqueueV2 hx Tcomponents=[?]"},
	{"Queue", "FIFOQueueV2", "", "component_types=[?] capacity=9 shared_name=U", "QueueEnqueueManyV2 hX Tcomponents=[?]"},
	{"Queue", "PaddingFIFOQueueV2", "", "component_types=[?] shapes=[-1] capacity=9 shared_name=U", "QueueEnqueueV2 hX Tcomponents=[?]"},
	{"Queue", "RandomShuffleQueueV2", "", "component_types=[?] shapes=? capacity=9 shared_name=U", "QueueEnqueueV2 hx Tcomponents=[?]"},
	{"Queue", "PriorityQueueV2", "", "component_types=[?] shapes=? capacity=9 shared_name=U", "QueueEnqueueV2 hIx Tcomponents=[int64,?]"},
	{"Stack", "StackV2", "i", "elem_type=? stack_name=U", "StackPushV2 hx T=?"},
	{"TensorArray", "TensorArrayV3", "i", "dtype=? tensor_array_name=U dynamic_size=true", "TensorArrayWriteV3 hixf T=?"},
	{"Iterator Make Delete Serialize", "IteratorV2", "", "shared_name=U container= output_types=[?] output_shapes=?", "MakeIterator dh"},
	{"Iterator Make", "AnonymousIteratorV3", "", "output_types=[?] output_shapes=?", "MakeIterator dh"},
	{"ResourceAccumulator Accumulator", "ResourceConditionalAccumulator", "", "dtype=? shape=? shared_name=U", "ResourceAccumulatorApplyGradient hIx dtype=?"},
	{"Cache DeleteMemory", "AnonymousMemoryCache", "", "", ""},
	{"Shuffle DeleteSeed", "AnonymousSeedGenerator", "IIb", "", ""},
	{"Shuffle DeleteRandom", "AnonymousRandomSeedGenerator", "II", "", ""},
	{"Mutex Consume", "MutexV2", "", "shared_name=U", ""},
	{"Multi Delete", "MultiDeviceIterator", "", "devices=[CPU:0] shared_name=U container= output_types=[?] output_shapes=?", "MultiDeviceIteratorInit dhI"},
	{"Multi Delete", "AnonymousMultiDeviceIteratorV3", "", "devices=[CPU:0] output_types=[?] output_shapes=?", ""},
	{"Set Stats Experimental", "StatsAggregatorHandleV2", "", "shared_name=U", ""},
	{"Thread Experimental", "ThreadPoolHandle", "", "num_threads=2 display_name=p shared_name=U", ""},
	{"Reader", "IdentityReaderV2", "", "shared_name=U", ""},
	{"Boosted Is", "BoostedTreesQuantileStreamResourceHandleOp", "", "shared_name=U", ""},
	{"Boosted Is", "BoostedTreesEnsembleResourceHandleOp", "", "shared_name=U", ""},
}

// names are makers of strings that stand for resources.
var names = []maker{
	{"Queue", "FIFOQueue", "", "component_types=[?] capacity=9 shared_name=U", "QueueEnqueue hx Tcomponents=[?]"},
	{"Queue", "PriorityQueue", "", "component_types=[?] shapes=? capacity=9 shared_name=U", "QueueEnqueue hIx Tcomponents=[int64,?]"},
	{"Lookup Initialize", "HashTable", "", "key_dtype=string value_dtype=int64 shared_name=U", ""},
	{"Lookup", "MutableHashTable", "", "key_dtype=? value_dtype=?? shared_name=U", ""},
	{"Stack", "Stack", "", "elem_type=? stack_name=U", "StackPush hx T=?"},
	{"TensorArray", "TensorArray", "i", "dtype=? tensor_array_name=U", ""},
	{"TensorArray", "TensorArrayV2", "i", "dtype=? tensor_array_name=U", ""},
	{"Barrier", "Barrier", "", "component_types=[?] shapes=? shared_name=U", "BarrierInsertMany hSX T=? component_index=0"},
	{"Accumulator", "ConditionalAccumulator", "", "dtype=? shape=? shared_name=U", "AccumulatorApplyGradient hIx dtype=?"},
	{"Sparse", "SparseConditionalAccumulator", "", "dtype=? shape=? shared_name=U", ""},
	{"Reader", "IdentityReader", "", "shared_name=U", ""},
}

// variables are makers of references.
var variables = []maker{
	{"", "VariableV2", "", "dtype=? shape=[2] shared_name=U", "Assign hX T=?"},
	{"", "VariableV2", "", "dtype=? shape=[2,2] shared_name=U", "Assign hM T=? validate_shape=false"},
	{"", "VariableV2", "", "dtype=?? shape=? shared_name=U", ""},
}

// variants are makers of lists, maps, datasets and others.
var variants = []maker{
	{"TensorList", "EmptyTensorList", "Ai", "element_dtype=? shape_type=int32", ""},
	{"TensorList", "TensorListReserve", "Ai", "element_dtype=? shape_type=int32", ""},
	{"TensorList", "TensorListFromTensor", "MA", "element_dtype=? shape_type=int32", ""},
	{"TensorList", "TensorListFromTensor", "XA", "element_dtype=? shape_type=int32", ""},
	{"TensorList", "TensorListPushBack", "lx", "element_dtype=?", ""},
	{"TensorList", "TensorListPushBack", "lh", "element_dtype=variant", ""},
	{"TensorList", "TensorListSetItem", "liM", "element_dtype=?", ""},
	{"TensorMap", "EmptyTensorMap", "", "", ""},
	{"TensorMap", "TensorMapInsert", "msx", "key_dtype=string value_dtype=?", ""},
	{"Optional", "OptionalNone", "", "", ""},
	{"Optional", "OptionalFromValue", "x", "Toutput_types=[?]", ""},
	{"Ragged", "RaggedTensorToVariant", "NX", "RAGGED_RANK=1 Tvalues=? Tsplits=int64 batched_input=true", ""},
	{"Ragged", "RaggedTensorToVariant", "X", "RAGGED_RANK=0 Tvalues=? Tsplits=int64 batched_input=true", ""},
	{"Sparse CSR Matrix", "DenseToCSRSparseMatrix", "FN", "T=float", ""},
	{"Sparse CSR Matrix", "SparseMatrixZeros", "W", "type=float", ""},
	{"Composite", "CompositeTensorVariantFromComponents", "x", "metadata= Tcomponents=[?]", ""},
	{"Uncompress", "CompressElement", "x", "input_types=[?]", ""},
	{"Deserialize", "SerializeSparse", "YXN", "T=? out_type=variant", ""},
	{"*", "TensorDataset", "x", "Toutput_types=[?] output_shapes=?", ""},
	{"*", "TensorSliceDataset", "M", "Toutput_types=[?] output_shapes=?", ""},
	{"*", "TensorSliceDataset", "X", "Toutput_types=[?] output_shapes=?", ""},
	{"*", "RangeDataset", "III", "output_types=[int64] output_shapes=[]", ""},
	{"*", "BatchDatasetV2", "dIb", "output_types=[?] output_shapes=?", ""},
	{"*", "RepeatDataset", "dI", "output_types=[?] output_shapes=?", ""},
	{"*", "WindowDataset", "dIIIb", "output_types=[?] output_shapes=?", ""},
	{"*", "SparseTensorSliceDataset", "YXN", "Tvalues=?", ""},
	{"Unwrap", "WrapDatasetVariant", "d", "", ""},
}

// fit returns makers of handles for an operation: fitting ones more often than others.
func (h *handles) fit(all []maker, dataset bool) maker {
	var fitting []maker
	for _, m := range all {
		for _, prefix := range strings.Fields(m.fits) {
			if prefix == "*" && dataset || prefix != "*" && strings.HasPrefix(h.op.Name, prefix) {
				fitting = append(fitting, m)
				break
			}
		}
	}
	if len(fitting) == 0 || h.random.IntN(12) == 0 {
		fitting = all
	}
	return fitting[h.random.IntN(len(fitting))]
}

// handle adds a maker's nodes to the graph, and returns the handle.
func (h *handles) handle(m maker) string {
	var inputs []string
	for _, kind := range m.inputs {
		inputs = append(inputs, h.input(kind, ""))
	}
	made := h.add(m.op, inputs, h.attrsOf(m.attrs))
	if op, rest, _ := strings.Cut(m.then, " "); op != "" && h.random.IntN(8) > 0 {
		kinds, attrs, _ := strings.Cut(rest, " ")
		var inputs []string
		for _, kind := range kinds {
			inputs = append(inputs, h.input(kind, made))
		}
		h.after = append(h.after, "^"+h.add(op, inputs, h.attrsOf(attrs)))
	}
	return made
}

// input returns an input of a kind. made is the handle that h stands for.
func (h *handles) input(kind rune, made string) string {
	switch kind {
	case 'h':
		if made == "" {
			return h.handle(variants[h.random.IntN(len(variants))])
		}
		return made
	case 'f':
		return made + ":1"
	case 'd':
		return h.handle(h.datasets()[h.random.IntN(3)])
	case 'l':
		return h.handle(variants[h.random.IntN(3)])
	case 'm':
		return h.handle(maker{op: "EmptyTensorMap"})
	case 'x':
		return h.value(h.dt, h.shape(4))
	case 'z':
		return h.value(h.other, h.shape(4))
	case 'X':
		return h.value(h.dt, []int64{2})
	case 'Z':
		return h.value(h.other, []int64{2})
	case 'M':
		return h.value(h.dt, []int64{2, 2})
	case 'F':
		return h.value(f32, [][]int64{{2}, {2, 2}}[h.random.IntN(2)])
	case 'S':
		return h.value(str, []int64{2})
	case 's':
		return h.value(str, nil)
	case 'L', 'W':
		return h.value(i64, []int64{2})
	case 'R':
		return h.value(i64, []int64{3})
	case 'Y':
		return h.value(i64, []int64{2, 1})
	case 'i':
		return h.value(i32, nil)
	case 'A':
		return h.value(i32, [][]int64{nil, {0}, {1}, {2}}[h.random.IntN(4)])
	case 'I', 'J':
		return h.value(i64, nil)
	case 'N':
		return h.value(i64, [][]int64{{1}, {2}, {3}, {2, 2}}[h.random.IntN(4)])
	case 'b':
		return h.value(boolean, nil)
	}
	panic(fmt.Sprint("no input of kind ", string(kind)))
}

// datasets returns the makers of datasets.
func (h *handles) datasets() []maker {
	i := slices.IndexFunc(variants, func(m maker) bool { return m.op == "TensorDataset" })
	return variants[i:]
}
