package gradients_test

import (
	"math"
	"testing"

	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// numericCase is an operation whose derivative is compared with differences of its
// values.
type numericCase struct {
	shape []int64
	build func(s *graph.Scope, x tfbridge.Output) tfbridge.Output
}

// unary is a case of an operation on x alone.
func unary(op string, shape []int64, attrs map[string]any) numericCase {
	return numericCase{shape, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output { return s.Op1(op, attrs, x) }}
}

// image and volume are shapes of a batch of small images with channels.
var image, volume = []int64{1, 4, 4, 2}, []int64{1, 2, 4, 4, 1}

// numericCases lists the operations that occur in no recorded model, by their types.
var numericCases = map[string]numericCase{
	"CheckNumerics":          unary("CheckNumerics", []int64{3}, map[string]any{"message": "x"}),
	"DeepCopy":               unary("DeepCopy", []int64{3}, nil),
	"MillraceHideShape":      unary(tfbridge.OpHideShape, []int64{3}, nil),
	"Snapshot":               unary("Snapshot", []int64{3}, nil),
	"Inv":                    unary("Inv", []int64{3}, nil),
	"EnsureShape":            unary("EnsureShape", []int64{3}, map[string]any{"shape": tfbridge.MakeShape(3)}),
	"PlaceholderWithDefault": unary("PlaceholderWithDefault", []int64{3}, map[string]any{"shape": tfbridge.MakeShape(3)}),
	"LRN":                    unary("LRN", image, map[string]any{"depth_radius": 1}),
	"MatrixDiag":             unary("MatrixDiag", []int64{2, 3}, nil),
	"MatrixDiagPart":         unary("MatrixDiagPart", []int64{2, 3, 3}, nil),
	"AvgPool3D":              unary("AvgPool3D", volume, map[string]any{"ksize": []int64{1, 2, 2, 2, 1}, "strides": []int64{1, 1, 2, 2, 1}, "padding": "SAME"}),
	"MaxPool3D":              unary("MaxPool3D", volume, map[string]any{"ksize": []int64{1, 2, 2, 2, 1}, "strides": []int64{1, 1, 2, 2, 1}, "padding": "VALID"}),

	"Add": {[]int64{2, 1}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("Add", nil, x, s.Const([]float32{1, 2, 3}))
	}},
	"Div": {[]int64{2, 1}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("Div", nil, s.Op1("Div", nil, x, s.Const([]float32{1, 2, 3})), s.Op1("Exp", nil, x))
	}},
	"BiasAddV1": {[]int64{3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("BiasAddV1", nil, s.Const([][]float32{{1, 2, 3}, {0, 1, 0}}), x)
	}},
	"ClipByValue": {[]int64{4}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("ClipByValue", nil, x, s.Const(float32(-0.4)), s.Const(float32(0.4)))
	}},
	"Concat": {[]int64{2, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("Concat", nil, s.Const(int32(1)), tfbridge.OutputList{x, s.Const([][]float32{{1}, {2}}), x})
	}},
	"PadV2": {[]int64{2, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		corner := graph.Subscript(s, x, graph.At(0), graph.At(1))
		return s.Op1("PadV2", nil, x, s.Const([][]int32{{1, 0}, {0, 2}}), corner)
	}},
	"Gather": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("Gather", nil, x, s.Const([]int32{2, 0, 2}))
	}},
	"GatherNd": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("GatherNd", nil, x, s.Const([][]int32{{2, 1}, {0, 0}, {2, 1}}))
	}},
	"MatrixSetDiagV3": {[]int64{2, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("MatrixSetDiagV3", nil, s.Op1("Square", nil, x), graph.Subscript(s, x, graph.At(0)), s.Const(int32(0)))
	}},
	"BatchMatMul": {[]int64{2, 2, 3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("BatchMatMul", map[string]any{"adj_y": true}, x, x)
	}},
	"BatchMatMulV3": {[]int64{2, 2, 3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("BatchMatMulV3", map[string]any{"adj_x": true, "Tout": tfbridge.Float}, x, s.Op1("Sin", nil, x))
	}},
	"Conv3D": {volume, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		filter := graph.Reshape(s, graph.Slice(s, graph.Reshape(s, x, s.Const([]int32{-1})), s.Const([]int32{3}), s.Const([]int32{8})), s.Const([]int32{2, 2, 2, 1, 1}))
		return s.Op1("Conv3D", map[string]any{"strides": []int64{1, 1, 2, 1, 1}, "padding": "SAME"}, x, filter)
	}},
	"Conv3DBackpropInputV2": {volume, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		filter := graph.Reshape(s, graph.Slice(s, graph.Reshape(s, x, s.Const([]int32{-1})), s.Const([]int32{3}), s.Const([]int32{8})), s.Const([]int32{2, 2, 2, 1, 1}))
		sizes := graph.Mul(s, graph.Cast(s, graph.Shape(s, x), tfbridge.Int32), s.Const([]int32{1, 1, 2, 1, 1}))
		return s.Op1("Conv3DBackpropInputV2", map[string]any{"strides": []int64{1, 1, 2, 1, 1}, "padding": "SAME"}, sizes, filter, x)
	}},
	"CTCLoss": {[]int64{4, 1, 3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op("CTCLoss", nil, x, s.Const([][]int64{{0, 0}, {0, 1}}), s.Const([]int32{1, 0}), s.Const([]int32{4}))[0]
	}},
	"MaxPoolV2": {image, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("MaxPoolV2", map[string]any{"padding": "VALID"}, x, s.Const([]int32{1, 2, 2, 1}), s.Const([]int32{1, 2, 2, 1}))
	}},
	"ResizeBicubic": {image, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("ResizeBicubic", map[string]any{"half_pixel_centers": true}, x, s.Const([]int32{6, 3}))
	}},
	"ResizeNearestNeighbor": {image, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("ResizeNearestNeighbor", nil, x, s.Const([]int32{6, 3}))
	}},
	"FusedBatchNorm":                {image, batchNorm("FusedBatchNorm", true)},
	"FusedBatchNormV2":              {image, batchNorm("FusedBatchNormV2", false)},
	"FusedBatchNormV3":              {image, batchNorm("FusedBatchNormV3", true)},
	"FusedBatchNormV3 in inference": {image, batchNorm("FusedBatchNormV3", false)},

	"PartitionedCall": {[]int64{3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		f := s.Func("cube", graph.SpecsOf([]tfbridge.Output{x}), nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Mul(s, args[0], s.Op1("Square", nil, args[0]))}
		})
		return graph.Call(s, f, x)[0]
	}},
	"StatelessIf": {[]int64{3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return graph.Cond(s, graph.Greater(s, graph.ReduceSum(s, x), s.Const(float32(0))), branch("Square", x), branch("Sin", x))[0]
	}},
	"StatelessCase": {[]int64{3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return graph.Case(s, s.Const(int32(1)), branch("Square", x), branch("Sin", x), branch("Exp", x))[0]
	}},

	"StatelessWhile": {[]int64{3}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return twice(s, x, s.Op1("Sin", nil, x))
	}},

	"TensorListGather": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return s.Op1("TensorListGather", map[string]any{"element_dtype": tfbridge.Float}, listOf(s, x), s.Const([]int32{2, 0}), s.Const([]int32{2}))
	}},
	"TensorListScatterV2": {[]int64{2, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return stack(s, s.Op1("TensorListScatterV2", nil, x, s.Const([]int32{1, 0}), s.Const([]int32{2}), s.Const(int32(-1))))
	}},
	"TensorListScatterIntoExistingList": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		twice := graph.Mul(s, s.Const(float32(2)), graph.Subscript(s, x, graph.From(1)))
		return stack(s, s.Op1("TensorListScatterIntoExistingList", nil, listOf(s, x), twice, s.Const([]int32{0, 2})))
	}},
	"TensorListResize": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		return stack(s, s.Op1("TensorListResize", nil, listOf(s, x), s.Const(int32(2))))
	}},
	"TensorListPushBack": {[]int64{2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		list := s.Op1("EmptyTensorList", map[string]any{"element_dtype": tfbridge.Float}, s.Const([]int32{2}), s.Const(int32(-1)))
		for _, op := range []string{"Sin", "Exp", "Square"} {
			list = s.Op1("TensorListPushBack", nil, list, s.Op1(op, nil, x))
		}
		return stack(s, list)
	}},
	"TensorListPopBack": {[]int64{3, 2}, func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		popped := s.Op("TensorListPopBack", map[string]any{"element_dtype": tfbridge.Float}, listOf(s, x), s.Const([]int32{2}))
		return graph.Mul(s, stack(s, popped[0]), popped[1])
	}},
}

// branch is a branch of a condition: an operation on x.
func branch(op string, x tfbridge.Output) graph.Branch {
	return func(s *graph.Scope) []tfbridge.Output { return []tfbridge.Output{s.Op1(op, nil, x)} }
}

// listOf makes a list of the rows of x, and stack a tensor of a list's elements.
func listOf(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("TensorListFromTensor", nil, x, s.Const([]int32{2}))
}

func stack(s *graph.Scope, list tfbridge.Output) tfbridge.Output {
	return s.Op1("TensorListStack", map[string]any{"element_dtype": tfbridge.Float}, list, s.Const([]int32{2}))
}

// batchNorm normalizes images, with x for scale and offset too.
func batchNorm(op string, training bool) func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
	return func(s *graph.Scope, x tfbridge.Output) tfbridge.Output {
		scale := graph.Subscript(s, x, graph.At(0), graph.At(0), graph.At(1))
		offset := graph.Subscript(s, x, graph.At(0), graph.At(2), graph.At(0))
		mean, variance := s.Const([]float32{0.1, -0.2}), s.Const([]float32{0.5, 1.5})
		if training {
			mean, variance = s.Zeros(tfbridge.Float, 0), s.Zeros(tfbridge.Float, 0)
		}
		return s.Op1(op, map[string]any{"is_training": training}, x, scale, offset, mean, variance)
	}
}

// Derivatives equal differences of the values.
func TestNumeric(t *testing.T) {
	for name, c := range numericCases {
		t.Run(name, func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			x := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(c.shape...))
			loss := graph.ReduceSum(s, s.Op1("Sin", nil, c.build(s, x)))
			d := gradients.Add(s, []tfbridge.Output{loss}, []tfbridge.Output{x}, nil)
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			if d[0].Op == nil {
				t.Fatal("there is no derivative")
			}
			compareDifferences(t, s.Graph(), c.shape, [3]tfbridge.Output{x, loss, d[0]})
		})
	}
}

// compareDifferences compares a derivative with differences of the loss. The outputs
// are x, the loss and the derivative.
func compareDifferences(t *testing.T, g *tfbridge.Graph, shape []int64, o [3]tfbridge.Output) {
	t.Helper()
	session, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	values := make([]float32, n)
	for i := range values { // all values differ, and none is near a limit of the cases
		values[i] = float32(math.Sin(float64(7*i+2))) * (0.5 + float32(i)/float32(4*n))
	}
	run := func(out tfbridge.Output) []float32 {
		in, err := tfbridge.NewTensorFromSlice(shape, values)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		got, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{o[0]: in}, []tfbridge.Output{out}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got[0].Close()
		return append([]float32(nil), floats(t, got[0])...)
	}
	d := run(o[2])
	largest := 1.0
	for _, v := range d {
		largest = max(largest, math.Abs(float64(v)))
	}
	const step = 0.005
	for i, v := range values {
		values[i] = v + step
		more := run(o[1])[0]
		values[i] = v - step
		less := run(o[1])[0]
		values[i] = v
		if want := float64(more-less) / (2 * step); !(math.Abs(float64(d[i])-want) <= 0.005*largest) {
			t.Errorf("derivative %d is %v, the difference says %v", i, d[i], want)
		}
	}
}
