package layers

import (
	"errors"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Options that contradict the layer are errors that name it.
func TestOptionErrors(t *testing.T) {
	tests := map[string]func(n *Net, x tfbridge.Output){
		"conv2d: strides, dilation or window are [2]": func(n *Net, x tfbridge.Output) {
			Conv2D(n, x, 1, []int64{2, 2}, &ConvOptions{Strides: []int64{2}})
		},
		"conv2d: the size of the filters is [2]": func(n *Net, x tfbridge.Output) { Conv2D(n, x, 1, []int64{2}, nil) },
		`conv2d: padding "causal" is for sequences`: func(n *Net, x tfbridge.Output) {
			Conv2D(n, x, 1, []int64{2, 2}, &ConvOptions{Causal: true})
		},
		"conv2d_transpose: the dilation is [2 2]": func(n *Net, x tfbridge.Output) {
			Conv2DTranspose(n, x, 1, []int64{2, 2}, &ConvOptions{Dilation: []int64{2, 2}})
		},
		"depthwise_conv2d: the size of the filters is [3]": func(n *Net, x tfbridge.Output) { DepthwiseConv2D(n, x, []int64{3}, nil) },
		"pooling: strides, dilation or window are [0 2]":   func(n *Net, x tfbridge.Output) { MaxPool2D(n, x, []int64{0, 2}, nil) },
		`bidirectional: there is no way "max" to merge`: func(n *Net, x tfbridge.Output) {
			Bidirectional(n, graph.Reshape(n.Scope, x, n.Const([]int64{-1, 4, 2})), LSTM, 2, &BidirectionalOptions{Merge: "max"})
		},
	}
	for want, layer := range tests {
		s := graph.NewScope()
		m := &Model{
			Features: []TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 4, 4, 2)}},
			Modes:    []Mode{Predict},
			Function: func(n *Net, features, _ Tensors) *Spec {
				layer(n, features["x"])
				return &Spec{Predictions: features}
			},
		}
		if _, err := m.build(s); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		s.Graph().Close()
	}
}

// Initializers draw from Keras's distributions. The kernel has 30 inputs and 40
// outputs for each of 10 places.
func TestInitializers(t *testing.T) {
	tests := map[string]struct {
		init      Initializer
		deviation float64
		largest   float64 // 0: no limit
	}{
		"glorot_uniform":   {GlorotUniform{}, math.Sqrt(2.0 / 700), math.Sqrt(6.0 / 700)},
		"glorot_normal":    {GlorotNormal{}, math.Sqrt(2.0 / 700), 2 * math.Sqrt(2.0/700) / 0.8796},
		"he_uniform":       {HeUniform{}, math.Sqrt(2.0 / 300), math.Sqrt(6.0 / 300)},
		"he_normal":        {HeNormal{}, math.Sqrt(2.0 / 300), 2 * math.Sqrt(2.0/300) / 0.8796},
		"lecun_uniform":    {LecunUniform{}, math.Sqrt(1.0 / 300), math.Sqrt(3.0 / 300)},
		"lecun_normal":     {LecunNormal{}, math.Sqrt(1.0 / 300), 2 * math.Sqrt(1.0/300) / 0.8796},
		"random_uniform":   {RandomUniform{}, 0.05 / math.Sqrt(3), 0.05},
		"random_normal":    {RandomNormal{}, 0.05, 0},
		"truncated_normal": {TruncatedNormal{StdDev: 2}, 2 * 0.8796, 4},
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	var names []string
	var values []tfbridge.Output
	for name, tt := range tests {
		names, values = append(names, name), append(values, tt.init.Value(s, []int64{10, 30, 40}, 5))
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i, drawn := range (&builtModel{session: session}).run(t, nil, values...) {
		sum, squares, largest := 0.0, 0.0, 0.0
		for _, v := range drawn {
			sum, squares, largest = sum+float64(v), squares+float64(v)*float64(v), max(largest, math.Abs(float64(v)))
		}
		want, n := tests[names[i]], float64(len(drawn))
		if mean := sum / n; math.Abs(mean) > 4*want.deviation/math.Sqrt(n) {
			t.Errorf("%s: the mean is %v", names[i], mean)
		}
		if got := math.Sqrt(squares / n); math.Abs(got/want.deviation-1) > 0.03 {
			t.Errorf("%s: the standard deviation is %v, want %v", names[i], got, want.deviation)
		}
		if want.largest > 0 && (largest > want.largest*1.001 || largest < want.largest*0.99) {
			t.Errorf("%s: the largest is %v, want %v", names[i], largest, want.largest)
		}
	}
}
