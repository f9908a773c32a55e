package inputcheck

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"millrace/internal/base/tfproto"
)

// TensorFlow's tensors have at most 254 dimensions, and a few kernels that add one end
// the process if the result has more. No sound model comes near that, so the graph nearly
// always shows that it does not happen: mostDims computes an upper bound. A check is
// inserted where the bound is not low enough.
//
// A graph may have millions of operations in a row, or paths that double with each of
// them. So each bound is computed once, and a longer path than maxBoundDepth has none.

// anyDims is the bound for a tensor that may have as many dimensions as TensorFlow allows.
const anyDims = 254

// smallDims bounds the dimensions of operations whose outputs have few, whatever their
// inputs are.
const smallDims = 8

// small are the operations whose outputs have few dimensions.
var small = words(`AvgPool AvgPool3D BiasAddGrad Bincount BroadcastArgs BroadcastGradientArgs ConcatOffset Conv2D Conv2DBackpropFilter Conv2DBackpropInput
	Conv3D CropAndResize DataFormatVecPermute DecodeBase64 DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng DecodeWav DenseBincount DepthToSpace DepthwiseConv2dNative
	InvertPermutation LRN LSTMBlockCell LinSpace ListDiff LookupTableSizeV2 MatMul MaxPool MaxPool3D NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
	NonMaxSuppressionV5 RaggedRange Range Rank ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor Shape ShapeN Size SpaceToDepth SparseFillEmptyRows
	SparseReshape StringFormat StringSplit StringSplitV2 TensorListLength UnicodeDecodeWithOffsets Unique UniqueWithCounts Where`)

// noDeeper are operations whose outputs have at most the dimensions of the input that has
// the most.
var noDeeper = words(`Abs Acos Acosh Add AddN AddV2 All Any ArgMax ArgMin AsString Asin Asinh Atan Atan2 Atanh BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchToSpaceND BiasAdd
	BitwiseAnd BitwiseOr BitwiseXor Bucketize Cast Ceil CheckNumerics ClipByValue Complex ComplexAbs Concat ConcatV2 Conj Cos Cosh Cumprod Cumsum Digamma Div DivNoNan Elu Enter EnsureShape Equal Erf
	Erfc Exit Exp Expm1 FakeQuantWithMinMaxVars Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Greater GreaterEqual Identity IdentityN Igamma Igammac Imag Inv IsFinite
	IsInf IsNan L2Loss LeakyRelu LeftShift Less LessEqual Lgamma Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatrixBandPart Max Maximum Mean Merge Min Minimum MirrorPad Mod
	Mul MulNoNan Neg NextIteration NotEqual OnesLike Pad PadV2 Pow PreventGradient Prod Real RealDiv Reciprocal Relu Relu6 Reverse ReverseSequence ReverseV2 RightShift Rint Round Rsqrt
	Select SelectV2 Selu Sigmoid Sign Sin Sinh Slice Snapshot Softmax Softplus Softsign SpaceToBatchND Split SplitV Sqrt Square SquaredDifference Squeeze StaticRegexFullMatch StaticRegexReplace StopGradient
	StringLower StringStrip StringToHashBucketFast StringToNumber StringUpper Sub Sum Switch Tan Tanh Tile TopK TopKV2 Transpose TruncateDiv TruncateMod Unpack Xdivy Xlogy ZerosLike Zeta`)

// shaped are operations whose output has the shape in an input.
var shaped = map[string]int{"BroadcastTo": 1, "Fill": 0, "RandomStandardNormal": 0, "RandomUniform": 0, "RandomUniformInt": 0, "Reshape": 1,
	"StatelessRandomNormalV2": 0, "StatelessRandomUniformV2": 0, "TruncatedNormal": 0}

// sums are operations whose output has at most the dimensions of their first two inputs
// together.
var sums = words(`Gather GatherNd GatherV2`)

// adds are operations whose output has a dimension more than their first input.
var adds = words(`ExpandDims OneHot Pack`)

// feed records the tensors of the graph that have another value during a run.
func (f *flow) feed(tensors []string) {
	for _, t := range tensors {
		name, _, _ := strings.Cut(t, ":")
		f.fed[name] = true
	}
}

// maxBoundDepth is the longest path that bounds are computed along.
const maxBoundDepth = 4096

// bound returns what compute returns for a key, at most a limit, which is also the answer within a
// loop and at the end of a long path.
func (f *flow) bound(known map[string]int, key string, limit int, compute func() int) int {
	if most, seen := known[key]; seen {
		return most
	}
	if f.depth == maxBoundDepth {
		return limit
	}
	known[key] = limit
	f.depth++
	known[key] = min(compute(), limit)
	f.depth--
	return known[key]
}

// mostDims returns an upper bound for the number of dimensions of a tensor.
func (f *flow) mostDims(body, tensor string) int {
	return f.bound(f.most, body+"/"+tensor, anyDims, func() int { return f.mostDimsOf(body, tensor) })
}

func (f *flow) mostDimsOf(body, tensor string) int {
	name, _, _ := strings.Cut(tensor, ":")
	n := f.bodies[body][name]
	if n == nil {
		return f.mostOfArgument(body, name)
	}
	op, inputs := n.GetOp(), dataInputs(n)
	at := func(i int) int {
		if i >= len(inputs) {
			return anyDims
		}
		return f.mostDims(body, inputs[i])
	}
	switch shape, isShaped := shaped[op]; {
	case body == "" && f.fed[name]:
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
	case isShaped && shape < len(inputs):
		return f.mostElements(body, inputs[shape])
	case sums[op]:
		return at(0) + at(1)
	case adds[op]:
		return at(0) + 1
	case op == "StridedSlice":
		return at(0) + bits.OnesCount32(uint32(n.GetAttr()["new_axis_mask"].GetI()))
	case op == "PartitionedCall", op == "StatefulPartitionedCall":
		return f.mostOfResult(n.GetAttr()["f"].GetFunc().GetName(), tensor)
	}
	return anyDims
}

// mostOfArgument returns the bound for an argument of a function.
func (f *flow) mostOfArgument(body, name string) int {
	i, ok := f.args[body][name]
	if !ok {
		return anyDims
	}
	if len(f.calls[body]) == 0 {
		return anyDims
	}
	most := 0
	for _, c := range f.calls[body] {
		tensors, ok := c.passed(f, i)
		if !ok {
			return anyDims
		}
		for _, t := range tensors {
			most = max(most, f.mostDims(t[0], t[1]))
		}
	}
	return most
}

// mostOfResult returns the bound for the result of a call.
func (f *flow) mostOfResult(function, tensor string) int {
	_, output, _ := strings.Cut(tensor, ":")
	output = output[strings.LastIndex(output, ":")+1:]
	i, _ := strconv.Atoi(output)
	if results := f.results[function]; i >= 0 && i < len(results) && results[i] != "" {
		return f.mostDims(function, results[i])
	}
	return anyDims
}

// unboundedElements is the bound for a vector of any length.
const unboundedElements = 1 << 20

// mostElements returns an upper bound for the number of elements of a vector.
func (f *flow) mostElements(body, tensor string) int {
	return f.bound(f.elements, body+"/"+tensor, unboundedElements, func() int { return f.mostElementsOf(body, tensor) })
}

func (f *flow) mostElementsOf(body, tensor string) int {
	name, _, _ := strings.Cut(tensor, ":")
	n := f.bodies[body][name]
	inputs := dataInputs(n)
	if body == "" && f.fed[name] || len(inputs) == 0 && n.GetOp() != "Const" {
		return unboundedElements
	}
	at := func(i int) int { return f.mostElements(body, inputs[i]) }
	switch op := n.GetOp(); {
	case op == "Const":
		if dims := n.GetAttr()["value"].GetTensor().GetTensorShape().GetDim(); len(dims) == 1 && dims[0].GetSize() >= 0 {
			return int(min(dims[0].GetSize(), unboundedElements))
		}
	case op == "Pack":
		return len(inputs) // scalars, or the kernel that takes it as a shape returns an error
	case op == "Shape":
		return f.mostDims(body, inputs[0])
	case op == "Identity", op == "Cast", op == "Slice":
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
		name, _, _ := strings.Cut(n.GetInput()[i], ":")
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

// keepDims requires that the vector which Fill takes as a shape has at most 254 elements,
// and hides its length: TensorFlow's optimizer ends the process for more.
func (c *check) keepDims() error {
	n := c.node
	if n.GetOp() != "Fill" || len(dataInputs(n)) != 2 || c.flow.mostElements(c.function.GetName(), n.GetInput()[0]) <= anyDims {
		return nil
	}
	c.hides = true
	return c.requireText(fmt.Sprintf("size(0)<=%d", anyDims))
}
