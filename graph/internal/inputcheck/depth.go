package inputcheck

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// TensorFlow's tensors have at most 254 dimensions, and a few kernels that add one end
// the process if the result has more. No sound model comes near that, so the graph nearly
// always shows that it does not happen: mostDims computes an upper bound. A check is
// inserted where the bound is not low enough.
//
// What a graph cannot show is how many dimensions the tensors have that an operation keeps
// for another: a list, an array, a variable. So these keep at most keptDims, which the
// operations that fill them check, and those that read and stack them need no check.
// Datasets are in datasets.go.

// keptDims is the most dimensions of a tensor in a list, an array or a variable, and of an element
// of a dataset that is batched. Package argcheck has the rules.
const keptDims = 128

// smallDims bounds the dimensions of operations whose outputs have few, whatever their
// inputs are.
const smallDims = 8

// small are the operations whose outputs have few dimensions.
var small = words(`AvgPool AvgPool3D AvgPoolGrad BiasAddGrad Bincount BroadcastArgs BroadcastGradientArgs ConcatOffset Conv2D Conv2DBackpropFilter Conv2DBackpropInput
	Conv3D CropAndResize DataFormatVecPermute DecodeBase64 DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng DecodeWav DenseBincount DepthToSpace DepthwiseConv2dNative
	DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput EmptyTensorList FusedBatchNormGradV3 InvertPermutation LRN LSTMBlockCell LinSpace ListDiff LookupTableSizeV2 LoopCond MatMul MaxPool MaxPool3D
	MaxPoolGrad NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 RaggedRange Range Rank ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor
	Shape ShapeN Size SoftmaxCrossEntropyWithLogits SpaceToDepth SparseFillEmptyRows SparseReshape SparseSoftmaxCrossEntropyWithLogits StringFormat StringSplit StringSplitV2
	TensorArraySizeV3 TensorArrayV3 TensorArrayWriteV3 TensorListElementShape TensorListFromTensor TensorListLength TensorListPushBack TensorListReserve TensorListResize TensorListSetItem
	UnicodeDecodeWithOffsets Unique UniqueWithCounts VarHandleOp VarIsInitializedOp Where`)

// noDeeper are operations whose outputs have at most the dimensions of the input that has
// the most.
var noDeeper = words(`Add AddN AddV2 Atan2 BatchMatMul BatchMatMulV2 BatchMatMulV3
	BitwiseAnd BitwiseOr BitwiseXor ClipByValue Complex Concat ConcatV2 Div DivNoNan EluGrad Equal
	FloorDiv FloorMod Greater GreaterEqual IdentityN Igamma Igammac InvGrad
	LeakyReluGrad LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Merge Minimum Mod
	Mul MulNoNan NotEqual Pow RealDiv ReciprocalGrad Relu6Grad ReluGrad RightShift RsqrtGrad
	Select SelectV2 SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad
	Sub SquaredDifference TanhGrad TruncateDiv TruncateMod Xdivy Xlogy Zeta`)

// asFirst are operations whose outputs have at most the dimensions of their first input.
var asFirst = words(`Abs Acos Acosh All Any ArgMax ArgMin AsString Asin Asinh Atan Atanh BatchToSpaceND BiasAdd
	Bucketize Cast Ceil CheckNumerics ComplexAbs Conj Cos Cosh Cumprod Cumsum Digamma Elu Enter EnsureShape Erf
	Erfc Exit Exp Expm1 FakeQuantWithMinMaxVars Floor FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Identity Imag Inv IsFinite
	IsInf IsNan L2Loss LeakyRelu Lgamma Log Log1p LogSoftmax LogicalNot MatrixBandPart Max Mean Min MirrorPad
	Neg NextIteration OnesLike Pad PadV2 PreventGradient Prod RandomShuffle Real Reciprocal Relu Relu6 Reverse ReverseSequence ReverseV2 Rint Round Rsqrt
	Selu Sigmoid Sign Sin Sinh Slice Snapshot Softmax Softplus Softsign SpaceToBatchND SplitV Sqrt Square Squeeze StaticRegexFullMatch StaticRegexReplace StopGradient
	StringLower StringStrip StringToHashBucketFast StringToNumber StringUpper Sum Switch Tan Tanh Tile TopK TopKV2 Transpose Unpack ZerosLike ` +
	tfbridge.OpCheckArguments + " " + tfbridge.OpHideShape)

// kept are operations that return a tensor of a list, of an array, of a variable or of a
// checkpoint, in which package bundle bounds them.
var kept = words(`ReadVariableOp Restore RestoreSlice RestoreV2 TensorArrayConcatV3 TensorArrayReadV3 TensorListConcatV2`)

// shaped are operations whose output has the shape in an input.
var shaped = map[string]int{"BroadcastTo": 1, "Fill": 0, "RandomStandardNormal": 0, "RandomUniform": 0, "RandomUniformInt": 0, "Reshape": 1,
	"StatelessRandomNormalV2": 0, "StridedSliceGrad": 0, "StatelessRandomUniformV2": 0, "TruncatedNormal": 0}

// sums are operations whose output has at most the dimensions of their first two inputs
// together.
var sums = words(`Gather GatherNd GatherV2`)

// adds are operations whose output has a dimension more than their first input.
var adds = words(`ExpandDims OneHot Pack`)

// feed records the tensors of the graph that have another value during a run.
func (f *flow) feed(tensors []string) {
	for _, t := range tensors {
		name := nodeOf(t)
		f.fed[name] = true
	}
}

// mostDims returns an upper bound for the number of dimensions of a tensor.
func (f *flow) mostDims(body, name string) int { return f.bounds.get(ofDims, body, name) }

// mostElements returns an upper bound for the number of elements of a vector.
func (f *flow) mostElements(body, name string) int { return f.bounds.get(ofElements, body, name) }

// equation returns the right side of the equation of a bound.
func (f *flow) equation(k boundKey) int {
	switch k.quantity {
	case ofElements:
		return f.mostElementsOf(k.body, k.name)
	case ofContents:
		return f.contentsOf(k.body, k.name)
	}
	return f.mostDimsOf(k.body, k.name)
}

func (f *flow) mostDimsOf(body, name string) int {
	node := nodeOf(name)
	n := f.bodies[body][node]
	if n == nil {
		return f.ofArgument(ofDims, body, node)
	}
	op, inputs := n.GetOp(), dataInputs(n)
	at := func(i int) int {
		if i >= len(inputs) {
			return anyDims
		}
		return f.mostDims(body, inputs[i])
	}
	switch shape, isShaped := shaped[op]; {
	case body == "" && f.fed[node]:
		return anyDims
	case op == "Const":
		return len(n.GetAttr()["value"].GetTensor().GetTensorShape().GetDim())
	case small[op]:
		return smallDims
	case noDeeper[op]:
		most := 0
		for i := range inputs {
			most = max(most, at(i))
		}
		return most
	case asFirst[op]:
		return at(0)
	case kept[op]:
		return keptDims
	case isShaped && shape < len(inputs):
		return f.mostElements(body, inputs[shape])
	case sums[op]:
		return at(0) + at(1)
	case adds[op]:
		return at(0) + 1
	}
	return f.mostOfOthers(body, name, n)
}

// mostOfOthers returns the bound for operations that calls, lists and attributes determine.
func (f *flow) mostOfOthers(body, name string, n *tfproto.NodeDef) int {
	inputs := dataInputs(n)
	attr := func(name string) string { return n.GetAttr()[name].GetFunc().GetName() }
	switch op := n.GetOp(); {
	case op == "StridedSlice" && len(inputs) > 0:
		return f.mostDims(body, inputs[0]) + bits.OnesCount32(uint32(n.GetAttr()["new_axis_mask"].GetI()))
	case op == "Split" && len(inputs) == 2:
		return f.mostDims(body, inputs[1])
	case op == "Einsum" && len(inputs) > 0:
		most := len(n.GetAttr()["equation"].GetS()) // labels
		for _, in := range inputs {
			most += f.mostDims(body, in) // an ellipsis may mean all dimensions
		}
		return most
	case (op == "TensorListGetItem" || op == "TensorListPopBack") && len(inputs) > 1:
		return max(keptDims, f.mostElements(body, inputs[len(inputs)-1])) // the shape of an element that was never set
	case op == "TensorListStack", op == "TensorListGather", op == "TensorArrayGatherV3":
		return keptDims + 1
	case op == "PartitionedCall", op == "StatefulPartitionedCall":
		return f.mostOfResult(attr("f"), name)
	case op == "If", op == "StatelessIf":
		return max(f.mostOfResult(attr("then_branch"), name), f.mostOfResult(attr("else_branch"), name))
	case op == "While", op == "StatelessWhile":
		if i := outputOf(name); i < len(inputs) {
			return max(f.mostDims(body, inputs[i]), f.mostOfResult(attr("body"), name))
		}
	}
	return anyDims
}

// ofArgument returns a bound for an argument of a function: the largest of what its calls pass.
func (f *flow) ofArgument(q quantity, body, name string) int {
	i, ok := f.args[body][name]
	if !ok || len(f.calls[body]) == 0 {
		return limits[q]
	}
	most := 0
	for _, c := range f.calls[body] {
		if c.dataset != "" && q != ofElements && (i >= len(c.inputs) || c.inputs[i] == "") {
			most = max(most, f.bounds.get(ofContents, c.caller, c.dataset))
			continue
		}
		tensors, ok := c.passed(f, i)
		if !ok {
			return limits[q]
		}
		for _, t := range tensors {
			most = max(most, f.bounds.get(q, t[0], t[1]))
		}
	}
	return most
}

// outputOf returns the number of an output in a tensor's name.
func outputOf(name string) int {
	_, output, _ := strings.Cut(name, ":")
	i, err := strconv.Atoi(output[strings.LastIndex(output, ":")+1:])
	if err != nil {
		return 0
	}
	return max(i, 0)
}

// mostOfResult returns the bound for the result of a call.
func (f *flow) mostOfResult(function, name string) int {
	return f.ofResult(ofDims, function, outputOf(name))
}

// ofResult returns a bound for a result of a function.
func (f *flow) ofResult(q quantity, function string, i int) int {
	if results := f.results[function]; i < len(results) && results[i] != "" {
		return f.bounds.get(q, function, results[i])
	}
	return limits[q]
}

func (f *flow) mostElementsOf(body, tensor string) int {
	name := nodeOf(tensor)
	n := f.bodies[body][name]
	inputs := dataInputs(n)
	if n == nil {
		return f.ofArgument(ofElements, body, name)
	}
	if body == "" && f.fed[name] || len(inputs) == 0 && n.GetOp() != "Const" {
		return unboundedElements
	}
	at := func(i int) int { return f.mostElements(body, inputs[i]) }
	switch op := n.GetOp(); {
	case op == "Const":
		dims := n.GetAttr()["value"].GetTensor().GetTensorShape().GetDim()
		if len(dims) == 0 {
			return 1
		}
		if len(dims) == 1 && dims[0].GetSize() >= 0 {
			return int(min(dims[0].GetSize(), unboundedElements))
		}
	case op == "Pack":
		return len(inputs) // scalars, or the kernel that takes it as a shape returns an error
	case op == "Shape":
		return f.mostDims(body, inputs[0])
	case op == "Identity", op == "Cast", op == "Slice", op == tfbridge.OpCheckArguments, op == tfbridge.OpHideShape:
		return at(0)
	case op == "StridedSlice" && len(inputs) == 4 && n.GetAttr()["new_axis_mask"].GetI() == 0:
		return min(at(0), f.mostOfSlice(body, n))
	case len(inputs) == 2 && broadcasts[op]:
		return max(at(0), at(1))
	case op == "ConcatV2":
		sum := 0
		for i := range inputs[1:] {
			sum = min(sum+at(i), unboundedElements)
		}
		return sum
	}
	return unboundedElements
}

// mostOfSlice returns an upper bound for the number of elements that a StridedSlice takes from a vector.
func (f *flow) mostOfSlice(body string, n *tfproto.NodeDef) int {
	at := func(i int) (int64, bool) {
		name := nodeOf(n.GetInput()[i])
		of := f.bodies[body][name]
		value := of.GetAttr()["value"].GetTensor()
		if of.GetOp() != "Const" || body == "" && f.fed[name] || len(value.GetTensorShape().GetDim()) != 1 || value.GetDtype() != tfproto.DataType_DT_INT32 {
			return 0, false
		}
		if b := value.GetTensorContent(); len(b) == 4 {
			return int64(int32(binary.NativeEndian.Uint32(b))), true
		}
		if v := value.GetIntVal(); len(v) == 1 {
			return int64(v[0]), true
		}
		return 0, false
	}
	begin, known := at(1)
	end, ends := at(2)
	if !known || !ends || begin < 0 || end < begin || n.GetAttr()["begin_mask"].GetI()+n.GetAttr()["end_mask"].GetI() != 0 {
		return unboundedElements
	}
	return int(min(end-begin, unboundedElements))
}

// batches are datasets that add a dimension to each component of their first input.
var batches = words(`BatchDataset BatchDatasetV2 PaddedBatchDataset PaddedBatchDatasetV2 ParallelBatchDataset SlidingWindowDataset`)

// mapsElements are datasets whose elements are the results of their function.
var mapsElements = words(`MapDataset ParallelMapDataset ParallelMapDatasetV2`)

// joinsDatasets are datasets that return the elements of the datasets which their function returns.
var joinsDatasets = words(`FlatMapDataset InterleaveDataset LegacyParallelInterleaveDatasetV2 ParallelInterleaveDataset ParallelInterleaveDatasetV2
	ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4`)

// sameElements are operations whose output has the elements of some of their inputs that are
// datasets: of the first one, or of all where the list below has them.
var (
	sameElements = words(`AssertCardinalityDataset AutoShardDataset CacheDataset CacheDatasetV2 FilterDataset GlobalShuffleDataset Identity IgnoreErrorsDataset MaxIntraOpParallelismDataset
	ModelDataset NonSerializableDataset OptimizeDataset OptimizeDatasetV2 OptionsDataset ParallelFilterDataset PrefetchDataset RepeatDataset RewriteDataset SamplingDataset ShardDataset
	ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset SleepDataset TakeDataset TakeWhileDataset UniqueDataset
	UnwrapDatasetVariant WindowDataset WrapDatasetVariant`)
	sameElementsOfAll = words(`ConcatenateDataset DirectedInterleaveDataset ZipDataset`)
)

// fewDims are datasets whose elements have few dimensions.
var fewDims = words(`RandomDataset RandomDatasetV2 RangeDataset SparseTensorSliceDataset`)

// contentsOf returns an upper bound for the number of dimensions of the tensors in a dataset.
func (f *flow) contentsOf(body, name string) int {
	node := nodeOf(name)
	n := f.bodies[body][node]
	if n == nil {
		return f.ofArgument(ofContents, body, node)
	}
	op, inputs := n.GetOp(), dataInputs(n)
	switch {
	case len(inputs) == 0 || body == "" && f.fed[node]:
		return anyDims
	case fewDims[op]:
		return smallDims
	case sameElements[op]:
		return f.bounds.get(ofContents, body, inputs[0])
	case sameElementsOfAll[op]:
		most := 0
		for _, in := range inputs {
			most = max(most, f.bounds.get(ofContents, body, in))
		}
		return most
	case batches[op]:
		return batched(n, f.bounds.get(ofContents, body, inputs[0]))
	case op == "MapAndBatchDataset":
		return batched(n, f.mapped(n))
	case op == "TensorDataset", op == "TensorSliceDataset":
		return f.ofComponents(body, n)
	case mapsElements[op]:
		return f.mapped(n)
	case joinsDatasets[op]:
		return f.ofResult(ofContents, functionOf(n), 0)
	case op == "PartitionedCall", op == "StatefulPartitionedCall":
		return f.ofResult(ofContents, functionOf(n), outputOf(name))
	}
	return anyDims
}

// functionOf returns the function that a node calls.
func functionOf(n *tfproto.NodeDef) string { return n.GetAttr()["f"].GetFunc().GetName() }

// batched returns the bound for batches of elements with a bound. The check ensures it, but it sees
// only the components, and not the tensors in datasets among them.
func batched(n *tfproto.NodeDef, most int) int {
	for _, dt := range componentTypes(n) {
		if !copyable(dt) {
			return most + 1
		}
	}
	return min(most, keptDims) + 1
}

// ofComponents returns the bound for a dataset that is made of tensors.
func (f *flow) ofComponents(body string, n *tfproto.NodeDef) int {
	inputs, types := dataInputs(n), n.GetAttr()["Toutput_types"].GetList().GetType()
	if len(types) != len(inputs) {
		return anyDims
	}
	most := 0
	for i, in := range inputs {
		most = max(most, f.bounds.get(ofDims, body, in))
		if !copyable(types[i]) {
			most = max(most, f.bounds.get(ofContents, body, in))
		}
	}
	return most
}

// mapped returns the bound for a dataset whose elements are the results of its function.
func (f *flow) mapped(n *tfproto.NodeDef) int {
	function := functionOf(n)
	types := f.returned[function]
	if types == nil {
		return anyDims
	}
	most := 0
	for i, dt := range types {
		most = max(most, f.ofResult(ofDims, function, i))
		if dt == tfproto.DataType_DT_INVALID || !copyable(dt) {
			most = max(most, f.ofResult(ofContents, function, i))
		}
	}
	return most
}

// componentTypes returns the dtypes of the elements of a dataset.
func componentTypes(n *tfproto.NodeDef) []tfproto.DataType {
	for _, name := range []string{"output_types", "Toutput_types"} {
		if types := n.GetAttr()[name].GetList().GetType(); len(types) > 0 {
			return types
		}
	}
	return []tfproto.DataType{tfproto.DataType_DT_VARIANT}
}
