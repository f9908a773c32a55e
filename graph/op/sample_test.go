package op_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/op"
	tf "millrace/tfbridge"
)

// TestUnary compares operations on one tensor with package math.
func TestUnary(t *testing.T) {
	tests := []struct {
		name string
		add  func(*op.Scope, tf.Output) tf.Output
		want func(float64) float64
	}{
		{"Abs", op.Abs, math.Abs}, {"Acos", op.Acos, math.Acos}, {"Asin", op.Asin, math.Asin},
		{"Asinh", op.Asinh, math.Asinh}, {"Atan", op.Atan, math.Atan}, {"Atanh", op.Atanh, math.Atanh},
		{"BesselJ0", op.BesselJ0, math.J0}, {"BesselJ1", op.BesselJ1, math.J1},
		{"BesselY0", op.BesselY0, math.Y0}, {"BesselY1", op.BesselY1, math.Y1},
		{"Ceil", op.Ceil, math.Ceil}, {"Cos", op.Cos, math.Cos}, {"Cosh", op.Cosh, math.Cosh},
		{"Erf", op.Erf, math.Erf}, {"Erfc", op.Erfc, math.Erfc}, {"Erfinv", op.Erfinv, math.Erfinv},
		{"Exp", op.Exp, math.Exp}, {"Expm1", op.Expm1, math.Expm1}, {"Floor", op.Floor, math.Floor},
		{"Inv", op.Inv, func(x float64) float64 { return 1 / x }},
		{"Lgamma", op.Lgamma, func(x float64) float64 { y, _ := math.Lgamma(x); return y }},
		{"Log", op.Log, math.Log}, {"Log1p", op.Log1p, math.Log1p},
		{"Neg", op.Neg, func(x float64) float64 { return -x }},
		{"OnesLike", op.OnesLike, func(float64) float64 { return 1 }},
		{"Reciprocal", op.Reciprocal, func(x float64) float64 { return 1 / x }},
		{"Relu", op.Relu, func(x float64) float64 { return max(x, 0) }},
		{"Relu6", op.Relu6, func(x float64) float64 { return min(max(x, 0), 6) }},
		{"Rint", op.Rint, math.RoundToEven}, {"Round", op.Round, math.RoundToEven},
		{"Rsqrt", op.Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"Sigmoid", op.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		{"Sign", op.Sign, func(x float64) float64 { return math.Copysign(1, x) }},
		{"Sin", op.Sin, math.Sin}, {"Sinh", op.Sinh, math.Sinh},
		{"Softplus", op.Softplus, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"Softsign", op.Softsign, func(x float64) float64 { return x / (1 + math.Abs(x)) }},
		{"Sqrt", op.Sqrt, math.Sqrt}, {"Square", op.Square, func(x float64) float64 { return x * x }},
		{"Tan", op.Tan, math.Tan}, {"Tanh", op.Tanh, math.Tanh},
		{"ZerosLike", op.ZerosLike, func(float64) float64 { return 0 }},
		{"Identity", op.Identity, func(x float64) float64 { return x }},
		{"Snapshot", op.Snapshot, func(x float64) float64 { return x }},
		{"StopGradient", op.StopGradient, func(x float64) float64 { return x }},
	}
	s := newScope(t)
	const x = 0.375
	in := op.Const(s, x)
	var outputs []tf.Output
	for _, tt := range tests {
		outputs = append(outputs, tt.add(s, in))
	}
	got := values(t, session(t, s), outputs...)
	for i, tt := range tests {
		if want := tt.want(x); math.Abs(got[i].(float64)-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s(%v)\n got %v\nwant %v", tt.name, x, got[i], want)
		}
	}
}

// TestBinary compares operations on two tensors with package math.
func TestBinary(t *testing.T) {
	tests := []struct {
		name string
		add  func(s *op.Scope, x, y tf.Output) tf.Output
		want any
	}{
		{"Add", op.Add, 9.5}, {"AddV2", op.AddV2, 9.5}, {"Sub", op.Sub, 5.5}, {"Mul", op.Mul, 15.0},
		{"Div", op.Div, 3.75}, {"RealDiv", op.RealDiv, 3.75}, {"DivNoNan", op.DivNoNan, 3.75}, {"FloorDiv", op.FloorDiv, 3.0},
		{"FloorMod", op.FloorMod, 1.5}, {"Mod", op.Mod, 1.5}, {"TruncateMod", op.TruncateMod, 1.5},
		{"Maximum", op.Maximum, 7.5}, {"Minimum", op.Minimum, 2.0}, {"Pow", op.Pow, 56.25},
		{"SquaredDifference", op.SquaredDifference, 30.25}, {"Atan2", op.Atan2, math.Atan2(7.5, 2)},
		{"MulNoNan", op.MulNoNan, 15.0}, {"Xdivy", op.Xdivy, 3.75}, {"Xlogy", op.Xlogy, 7.5 * math.Log(2)},
		{"NextAfter", op.NextAfter, math.Nextafter(7.5, 2)},
		{"Greater", op.Greater, true}, {"GreaterEqual", op.GreaterEqual, true}, {"Less", op.Less, false}, {"LessEqual", op.LessEqual, false},
	}
	s := newScope(t)
	x, y := op.Const(s, 7.5), op.Const(s, 2.0)
	var outputs []tf.Output
	for _, tt := range tests {
		outputs = append(outputs, tt.add(s, x, y))
	}
	got := values(t, session(t, s), outputs...)
	for i, tt := range tests {
		if f, ok := tt.want.(float64); ok && math.Abs(got[i].(float64)-f) < 1e-9 {
			continue
		}
		if got[i] != tt.want {
			t.Errorf("%s(7.5, 2)\n got %v\nwant %v", tt.name, got[i], tt.want)
		}
	}
}

// TestAssorted runs operations with attributes, options, lists and several
// results.
func TestAssorted(t *testing.T) {
	s := newScope(t)
	c := func(v any) tf.Output { return op.Const(s, v) }
	matrix := c([][]float32{{1, 2}, {3, 4}})
	vector := c([]int32{5, 1, 5, 3})
	unique, positions := op.Unique(s, vector)
	top, at := op.TopKV2(s, vector, c(int32(2)), op.TopKV2Sorted(true))
	found, missing := op.ListDiff(s, vector, c([]int32{5}))
	image := op.EncodePng(s, c([][][]uint8{{{1}, {2}}}))
	proto := op.ParseTensor(s, op.SerializeTensor(s, vector), tf.Int32)
	tests := []struct {
		name string
		got  tf.Output
		want any
	}{
		{"MatMul", op.MatMul(s, matrix, matrix, op.MatMulTransposeB(true)), [][]float32{{5, 11}, {11, 25}}},
		{"Sum", op.Sum(s, matrix, c(int32(0)), op.SumKeepDims(true)), [][]float32{{4, 6}}},
		{"ArgMax", op.ArgMax(s, matrix, c(int32(1)), op.ArgMaxOutputType(tf.Int32)), []int32{1, 1}},
		{"Cast", op.Cast(s, matrix, tf.Int64), [][]int64{{1, 2}, {3, 4}}},
		{"ConcatV2", op.ConcatV2(s, []tf.Output{vector, vector}, c(int32(0))), []int32{5, 1, 5, 3, 5, 1, 5, 3}},
		{"Pack", op.Pack(s, []tf.Output{vector, vector}, op.PackAxis(1)), [][]int32{{5, 5}, {1, 1}, {5, 5}, {3, 3}}},
		{"Unpack", op.Unpack(s, matrix, 2, op.UnpackAxis(1))[1], []float32{2, 4}},
		{"Split", op.Split(s, c(int32(0)), vector, 2)[1], []int32{5, 3}},
		{"Reshape", op.Reshape(s, vector, c([]int32{2, 2})), [][]int32{{5, 1}, {5, 3}}},
		{"Transpose", op.Transpose(s, matrix, c([]int32{1, 0})), [][]float32{{1, 3}, {2, 4}}},
		{"StridedSlice", op.StridedSlice(s, vector, c([]int32{0}), c([]int32{4}), c([]int32{2})), []int32{5, 5}},
		{"Squeeze", op.Squeeze(s, c([][]int32{{7}}), op.SqueezeAxis([]int64{0})), []int32{7}},
		{"ExpandDims", op.ExpandDims(s, vector, c(int32(0))), [][]int32{{5, 1, 5, 3}}},
		{"GatherV2", op.GatherV2(s, vector, c([]int32{3, 0}), c(int32(0))), []int32{3, 5}},
		{"ScatterNd", op.ScatterNd(s, c([][]int32{{2}}), c([]int32{9}), c([]int32{4})), []int32{0, 0, 9, 0}},
		{"Where", op.Where(s, c([]bool{false, true, true})), [][]int64{{1}, {2}}},
		{"SelectV2", op.SelectV2(s, c([]bool{true, false}), c([]int32{1, 2}), c([]int32{3, 4})), []int32{1, 4}},
		{"OneHot", op.OneHot(s, c([]int32{1}), c(int32(3)), c(float32(1)), c(float32(0))), [][]float32{{0, 1, 0}}},
		{"Fill", op.Fill(s, c([]int32{2}), c("x")), []string{"x", "x"}},
		{"Range", op.Range(s, c(int32(1)), c(int32(6)), c(int32(2))), []int32{1, 3, 5}},
		{"Tile", op.Tile(s, c([]int32{1, 2}), c([]int32{2})), []int32{1, 2, 1, 2}},
		{"Pad", op.PadV2(s, c([]int32{1}), c([][]int32{{1, 0}}), c(int32(8))), []int32{8, 1}},
		{"Reverse", op.ReverseV2(s, vector, c([]int32{0})), []int32{3, 5, 1, 5}},
		{"Cumsum", op.Cumsum(s, vector, c(int32(0)), op.CumsumExclusive(true)), []int32{0, 5, 6, 11}},
		{"AddN", op.AddN(s, []tf.Output{vector, vector, vector}), []int32{15, 3, 15, 9}},
		{"Bincount", op.Bincount(s, c([]int32{1, 1, 2}), c(int32(3)), c([]int32{})), []int32{0, 2, 1}},
		{"ClipByValue", op.ClipByValue(s, vector, c(int32(2)), c(int32(4))), []int32{4, 2, 4, 3}},
		{"SegmentSum", op.SegmentSum(s, vector, c([]int32{0, 0, 1, 1})), []int32{6, 8}},
		{"Unique", unique, []int32{5, 1, 3}}, {"Unique positions", positions, []int32{0, 1, 0, 2}},
		{"TopKV2", top, []int32{5, 5}}, {"TopKV2 indices", at, []int32{0, 2}},
		{"ListDiff", found, []int32{1, 3}}, {"ListDiff indices", missing, []int32{1, 3}},
		{"AsString", op.AsString(s, vector, op.AsStringFill("0"), op.AsStringWidth(2)), []string{"05", "01", "05", "03"}},
		{"StringJoin", op.StringJoin(s, []tf.Output{c("a"), c("b")}, op.StringJoinSeparator("-")), "a-b"},
		{"RegexReplace", op.RegexReplace(s, c("abc"), c("b+"), c("_")), "a_c"},
		{"StringLength", op.StringLength(s, c("häh"), op.StringLengthUnit("UTF8_CHAR")), int32(3)},
		{"Substr", op.Substr(s, c("hello"), c(int32(1)), c(int32(3))), "ell"},
		{"DecodeRaw", op.DecodeRaw(s, c("\x01\x00\x02\x00"), tf.Int16), []int16{1, 2}},
		{"DecodePng", op.DecodePng(s, image, op.DecodePngChannels(1)), [][][]uint8{{{1}, {2}}}},
		{"ParseTensor", proto, []int32{5, 1, 5, 3}},
		{"Bitcast", op.Bitcast(s, c(float32(1)), tf.Int32), int32(0x3f800000)},
		{"Softmax", op.Softmax(s, c([]float32{0, 0})), []float32{0.5, 0.5}},
		{"L2Loss", op.L2Loss(s, matrix), float32(15)},
		{"BiasAdd", op.BiasAdd(s, matrix, c([]float32{10, 20})), [][]float32{{11, 22}, {13, 24}}},
		{"MatrixInverse", op.MatrixInverse(s, c([][]float32{{2, 0}, {0, 4}})), [][]float32{{0.5, 0}, {0, 0.25}}},
		{"MaxPool", op.MaxPool(s, c([][][][]float32{{{{1}, {7}}}}), []int64{1, 1, 2, 1}, []int64{1, 1, 1, 1}, "VALID"), [][][][]float32{{{{7}}}}},
		{"PlaceholderWithDefault", op.PlaceholderWithDefault(s, vector, tf.MakeShape(-1)), []int32{5, 1, 5, 3}},
	}
	var outputs []tf.Output
	for _, tt := range tests {
		outputs = append(outputs, tt.got)
	}
	got := values(t, session(t, s), outputs...)
	for i, tt := range tests {
		if diff := cmp.Diff(tt.want, got[i]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
