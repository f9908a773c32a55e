package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"reflect"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

func ExampleTensor() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := graph.NewTensor(s, s.Const([][]float32{{1, -2}, {3, 4}}))
	y := x.MatMul(s.Const([][]float32{{1, 0}, {0, 2}})).Add(0.5).Relu()
	value, err := y.Eval(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer value.Close()
	fmt.Println(value.Value())
	// Output: [[1.5 0] [3.5 8.5]]
}

func ExampleExec() {
	s := graph.NewScope()
	defer s.Graph().Close()
	x := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	double := graph.NewTensor(s, x).Mul(2).Output()
	in, err := tfbridge.NewTensor([]int64{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	values, err := graph.Exec(context.Background(), s, []tfbridge.Output{double}, map[tfbridge.Output]*tfbridge.Tensor{x: in}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer values[0].Close()
	fmt.Println(values[0].Value())
	// Output: [2 4 6]
}

func TestTensorMethods(t *testing.T) {
	type T = graph.Tensor
	tests := []struct {
		name string
		x    any
		do   func(T) T
		want any
	}{
		{"neg", []int32{1, -2}, T.Neg, []int32{-1, 2}},
		{"abs", []int32{1, -2}, T.Abs, []int32{1, 2}},
		{"sign", []float32{3, -2, 0}, T.Sign, []float32{1, -1, 0}},
		{"square", []int32{3, -2}, T.Square, []int32{9, 4}},
		{"sqrt", []float64{9, 4}, T.Sqrt, []float64{3, 2}},
		{"rsqrt", []float64{4}, T.Rsqrt, []float64{0.5}},
		{"exp log", []float64{0}, func(x T) T { return x.Exp().Log() }, []float64{0}},
		{"sin cos", []float64{0}, func(x T) T { return x.Sin().Cos() }, []float64{1}},
		{"tanh sigmoid", []float64{0}, func(x T) T { return x.Tanh().Sigmoid() }, []float64{0.5}},
		{"relu", []float32{-1, 2}, T.Relu, []float32{0, 2}},
		{"softmax", [][]float64{{0, 0}}, T.Softmax, [][]float64{{0.5, 0.5}}},
		{"floor", []float64{1.5, -1.5}, T.Floor, []float64{1, -2}},
		{"ceil", []float64{1.5, -1.5}, T.Ceil, []float64{2, -1}},
		{"round to even", []float64{0.5, 1.5, 2.5}, T.Round, []float64{0, 2, 2}},
		{"not", []bool{true, false}, T.LogicalNot, []bool{false, true}},
		{"add a number", []int16{1, 2}, func(x T) T { return x.Add(1) }, []int16{2, 3}},
		{"add a vector", []int32{1, 2}, func(x T) T { return x.Add([]int32{10, 20}) }, []int32{11, 22}},
		{"sub", []uint8{5}, func(x T) T { return x.Sub(2) }, []uint8{3}},
		{"div", []float32{5}, func(x T) T { return x.Div(2) }, []float32{2.5}},
		{"floordiv", []int32{-5}, func(x T) T { return x.FloorDiv(2) }, []int32{-3}},
		{"floormod", []int32{-5}, func(x T) T { return x.FloorMod(3) }, []int32{1}},
		{"pow", []int32{2}, func(x T) T { return x.Pow(10) }, []int32{1024}},
		{"complex", []complex64{1i}, func(x T) T { return x.Mul(2) }, []complex64{2i}},
		{"half", []tfbridge.Float16{tfbridge.NewFloat16(1.5)}, func(x T) T { return x.Mul(2) }, []tfbridge.Float16{tfbridge.NewFloat16(3)}},
		{"bfloat16", []tfbridge.BFloat16{tfbridge.NewBFloat16(1.5)}, func(x T) T { return x.Add(0.5) }, []tfbridge.BFloat16{tfbridge.NewBFloat16(2)}},
		{"uint64", []uint64{1}, func(x T) T { return x.Add(uint64(1 << 63)) }, []uint64{1<<63 + 1}},
		{"min max", []int64{1, 5, 9}, func(x T) T { return x.Maximum(2).Minimum(8) }, []int64{2, 5, 8}},
		{"clip", []int64{1, 5, 9}, func(x T) T { return x.Clip(2, 8) }, []int64{2, 5, 8}},
		{"compare", []int64{1, 2, 3}, func(x T) T { return x.Less(3).LogicalAnd(x.Greater(1)) }, []bool{false, true, false}},
		{"equal", []string{"a", "b"}, func(x T) T { return x.Equal("b").LogicalOr(x.NotEqual("a")) }, []bool{false, true}},
		{"at most", []int64{1, 2, 3}, func(x T) T { return x.LessEqual(2).Equal(x.GreaterEqual(2)) }, []bool{false, true, false}},
		{"close", []float64{1, 1, 1e-9}, func(x T) T { return x.IsClose([]float64{1.001, 1.1, 0}, 0.01, 1e-8) }, []bool{true, false, true}},
		{"batched matmul", [][][]float32{{{1, 2}}, {{3, 4}}}, func(x T) T { return x.MatMul([][][]float32{{{1}, {1}}, {{1}, {0}}}) }, [][][]float32{{{3}}, {{3}}}},
		{"cast", []float32{1.9, -1.9}, func(x T) T { return x.Cast(tfbridge.Int8) }, []int8{1, -1}},
		{"reshape", []int32{1, 2, 3, 4}, func(x T) T { return x.Reshape(2, -1) }, [][]int32{{1, 2}, {3, 4}}},
		{"transpose", [][]int32{{1, 2}, {3, 4}}, func(x T) T { return x.Transpose() }, [][]int32{{1, 3}, {2, 4}}},
		{"transpose by", [][]int32{{1, 2}, {3, 4}}, func(x T) T { return x.Transpose(0, 1) }, [][]int32{{1, 2}, {3, 4}}},
		{"expand squeeze", []int32{1}, func(x T) T { return x.ExpandDims(0).ExpandDims(-1).Squeeze(0, 2) }, []int32{1}},
		{"subscript", [][]int32{{1, 2}, {3, 4}}, func(x T) T { return x.Subscript(graph.At(-1), graph.From(1)) }, []int32{4}},
		{"gather", []string{"a", "b", "c"}, func(x T) T { return x.Gather([]int{2, 0}, 0) }, []string{"c", "a"}},
		{"gather one", []string{"a", "b", "c"}, func(x T) T { return x.Gather(1, 0) }, "b"},
		{"concat", []int32{1}, func(x T) T { return x.Concat(0, []int32{2, 3}, x) }, []int32{1, 2, 3, 1}},
		{"stack", []int32{1}, func(x T) T { return x.Stack(1, x.Add(1)) }, [][]int32{{1, 2}}},
		{"sum", [][]int32{{1, 2}, {3, 4}}, func(x T) T { return x.Sum() }, int32(10)},
		{"sum axis", [][]int32{{1, 2}, {3, 4}}, func(x T) T { return x.Sum(0) }, []int32{4, 6}},
		{"mean", [][]float32{{1, 2}, {3, 4}}, func(x T) T { return x.Mean(-1) }, []float32{1.5, 3.5}},
		{"prod max min", []int32{2, 3}, func(x T) T { return x.Prod().Add(x.Max()).Sub(x.Min()) }, int32(7)},
		{"all any", []bool{true, false}, func(x T) T { return x.All().LogicalOr(x.Any()) }, true},
		{"argmax", []int32{2, 7, 7}, func(x T) T { return x.ArgMax(0).Sub(x.ArgMin(0)) }, int64(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			y := tt.do(graph.NewTensor(s, s.Const(tt.x)))
			value, err := y.Eval(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer value.Close()
			if got := value.Value(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Eval computes a tensor of a placeholder from the value that it is fed.
func TestEvalWithFeeds(t *testing.T) {
	s := graphtest.NewScope(t)
	x := s.Placeholder(tfbridge.Int32, tfbridge.ScalarShape())
	y := graph.NewTensor(s, x).Mul(3)
	fed, err := tfbridge.NewTensor(int32(5))
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	value, err := y.Eval(t.Context(), map[tfbridge.Output]*tfbridge.Tensor{x: fed})
	if err != nil {
		t.Fatal(err)
	}
	defer value.Close()
	if got := value.Value(); got != int32(15) {
		t.Errorf("got %v, want 15", got)
	}
	if _, err := y.Eval(t.Context(), nil); err == nil {
		t.Error("a placeholder without a value was no error")
	}
}

// A method leaves its tensor as it was.
func TestTensorIsUnchanged(t *testing.T) {
	s := graphtest.NewScope(t)
	x := graph.NewTensor(s, s.Const([]int32{1}))
	x.Add(1)
	if got := run(t, s, x.Output())[0]; !reflect.DeepEqual(got, []int32{1}) {
		t.Errorf("got %v", got)
	}
}

func TestTensorFailures(t *testing.T) {
	tests := []struct {
		name string
		x    any
		do   func(graph.Tensor) graph.Tensor
		want string
	}{
		{"fraction to an integer", []int32{1}, func(x graph.Tensor) graph.Tensor { return x.Add(0.5) }, "0.5 is not a value of int32"},
		{"too large", []uint8{1}, func(x graph.Tensor) graph.Tensor { return x.Add(256) }, "256 is not a value of uint8"},
		{"negative", []uint64{1}, func(x graph.Tensor) graph.Tensor { return x.Add(-1) }, "-1 is not a value of uint64"},
		{"infinite", []int64{1}, func(x graph.Tensor) graph.Tensor { return x.Add(math.Inf(1)) }, "not a value of int64"},
		{"number to a string", "a", func(x graph.Tensor) graph.Tensor { return x.Add(1) }, "1 is not a value of string"},
		{"nil", []int32{1}, func(x graph.Tensor) graph.Tensor { return x.Add(nil) }, "nil is no value"},
		{"a type that no tensor holds", []int32{1}, func(x graph.Tensor) graph.Tensor { return x.Add(struct{}{}) }, "struct {}"},
		{"types differ", []int32{1}, func(x graph.Tensor) graph.Tensor { return x.Add([]float32{1}) }, "AddV2"},
		{"shapes differ", []int32{1, 2}, func(x graph.Tensor) graph.Tensor { return x.Add([]int32{1, 2, 3}) }, "AddV2"},
		{"zero tensor", []int32{1}, func(x graph.Tensor) graph.Tensor { return x.Add(graph.Tensor{}) }, "AddV2"},
		{"unknown rank", []int32{1}, func(x graph.Tensor) graph.Tensor {
			s := x.Scope()
			return graph.NewTensor(s, s.Placeholder(tfbridge.Float, tfbridge.Shape{})).Transpose()
		}, "number of dimensions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			y := tt.do(graph.NewTensor(s, s.Const(tt.x))).Mul(1).Sum().Transpose().Concat(0, 1).Clip(0, 1)
			_, err := y.Eval(t.Context(), nil)
			var classed *millrace.Error
			if !errors.As(err, &classed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want one with %q", err, tt.want)
			}
			if y.Output().Op != nil || y.DataType() != 0 {
				t.Errorf("after a failure the tensor is %v", y.Output())
			}
		})
	}
}

// The zero Tensor does nothing, and says so.
func TestZeroTensor(t *testing.T) {
	var x graph.Tensor
	y := x.Add(1).Sum().Transpose().Gather(1, 0).MatMul(2).Concat(0, 1).Clip(0, 1).Subscript(graph.At(1)).ExpandDims(0).IsClose(1, 0, 0).Cast(tfbridge.Int32)
	if _, err := y.Eval(t.Context(), nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("got %v", err)
	}
	s := graphtest.NewScope(t)
	if err := graph.NewTensor(s, tfbridge.Output{}).Err(); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("got %v", err)
	}
}
