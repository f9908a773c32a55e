package layers

import (
	"math"
	"slices"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// randomImages gives 8 images of 4 by 4 pixels and 2 channels, all values different and
// between 0.2 and 0.8.
func randomImages() []float32 {
	x := make([]float32, 8*4*4*2)
	for i := range x {
		x[i] = 0.2 + 0.6*float32(i)/float32(len(x))
	}
	return x
}

// applied applies a layer to randomImages in mode Train and in mode Predict.
func applied(t *testing.T, layer Activation) (train, predict []float32) {
	t.Helper()
	b := newBuilt(t, &Model{
		Features: []TensorSpec{{Name: "x", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 4, 4, 2)}}, Seed: 5,
		Function: func(n *Net, features, _ Tensors) *Spec {
			y := graph.Identity(n.Scope, layer(n, features["x"]))
			bias := n.Variable("bias", nil, &VariableOptions{Initializer: Zeros})
			loss := graph.Add(n.Scope, bias, graph.ReduceSum(n.Scope, n.f("StopGradient", nil, y)))
			return &Spec{Predictions: Tensors{"y": y}, Loss: loss, Optimizer: optimizer.NewSGD()}
		},
	})
	x, err := tfbridge.NewTensorFromSlice([]int64{8, 4, 4, 2}, randomImages())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	run := func(key string) []float32 {
		sig := b.signatures[key]
		return b.run(t, map[tfbridge.Output]*tfbridge.Tensor{sig.inputs["x"]: x}, sig.outputs["y"])[0]
	}
	return run("train"), run("serving_default")
}

// Layers of noise and augmentation do not change a prediction, and change images in
// training as documented.
func TestRandomLayers(t *testing.T) {
	x := randomImages()
	const size = 4 * 4 * 2
	tests := map[string]struct {
		layer Activation
		check func(y []float32) bool // checks one image, next to the image of x
	}{
		"flip": {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomFlip(n, x, FlipBoth) }, func(y []float32) bool {
			sorted := slices.Clone(y)
			slices.Sort(sorted)
			return slices.IsSorted(sorted) && math.Abs(float64(sorted[1]-sorted[0])) > 1e-4 && sorted[size-1]-sorted[0] < 0.08
		}},
		"brightness": {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomBrightness(n, x, 0.1) }, func(y []float32) bool {
			return math.Abs(float64(y[5]-y[0])-5*0.6/256) < 1e-5
		}},
		"contrast": {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomContrast(n, x, 0.5) }, func(y []float32) bool {
			step := float64(y[2] - y[0])
			return step > 0.4*2*0.6/256 && step < 1.6*2*0.6/256
		}},
		"rotation":    {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomRotation(n, x, 0.2) }, inRange},
		"translation": {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomTranslation(n, x, 0.3, 0.3) }, inRange},
		"zoom":        {func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomZoom(n, x, 0.3) }, inRange},
		"spatial": {func(n *Net, x tfbridge.Output) tfbridge.Output { return SpatialDropout(n, x, 0.5) }, func(y []float32) bool {
			for c := range 2 {
				for i := c; i < size; i += 2 {
					if (y[i] == 0) != (y[c] == 0) {
						return false
					}
				}
			}
			return true
		}},
		"gaussian noise":   {func(n *Net, x tfbridge.Output) tfbridge.Output { return GaussianNoise(n, x, 0.1) }, finite},
		"gaussian dropout": {func(n *Net, x tfbridge.Output) tfbridge.Output { return GaussianDropout(n, x, 0.1) }, finite},
		"alpha dropout":    {func(n *Net, x tfbridge.Output) tfbridge.Output { return AlphaDropout(n, x, 0.3) }, finite},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			train, predict := applied(t, tt.layer)
			if !slices.Equal(predict, x) {
				t.Error("the prediction is changed")
			}
			if slices.Equal(train, x) {
				t.Error("the training is not changed")
			}
			for i := 0; i < len(train); i += size {
				if !tt.check(train[i : i+size]) {
					t.Errorf("image %d is %v, was %v", i/size, train[i:i+size], x[i:i+size])
				}
			}
			if again, _ := applied(t, tt.layer); !slices.Equal(again, train) {
				t.Error("the same seed and step gives other numbers")
			}
		})
	}
}

// inRange reports whether all values are in the image's range, as interpolation and
// reflection require.
func inRange(y []float32) bool { return slices.Max(y)-slices.Min(y) < 0.08 && slices.Min(y) > 0.19 }

// finite reports whether all values are near the image's.
func finite(y []float32) bool { return slices.Min(y) > -5 && slices.Max(y) < 5 }

// A crop has the requested size, and lies within the image.
func TestRandomCrop(t *testing.T) {
	train, predict := applied(t, func(n *Net, x tfbridge.Output) tfbridge.Output { return RandomCrop(n, x, 2, 3) })
	x := randomImages()
	if len(train) != 8*2*3*2 || len(predict) != len(train) {
		t.Fatalf("%d and %d values", len(train), len(predict))
	}
	if predict[0] != x[(1*4+0)*2] {
		t.Errorf("the prediction begins with %v, not in the middle", predict[0])
	}
	at := slices.Index(x, train[0])
	if at < 0 || at/2%4 > 1 || at/8 > 2 || train[6] != x[at+8] {
		t.Errorf("the crop begins with element %d: %v", at, train[:12])
	}
}

// Strings are looked up in a vocabulary, and layers with wrong arguments are refused.
func TestStringLookup(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	n := &Net{Scope: s, Mode: Predict, names: map[string]int{}, taken: map[string]bool{}}
	y := StringLookup(n, s.Const([][]string{{"b", "x"}, {"c", "a"}}), []string{"a", "b", "c"})
	out, err := graph.Exec(t.Context(), s, []tfbridge.Output{y}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	if got, _ := tfbridge.View[int64](out[0]); !slices.Equal(got, []int64{2, 0, 3, 1}) {
		t.Errorf("got %v", got)
	}
	if StringLookup(n, y, nil); s.Err() == nil {
		t.Error("an empty vocabulary is taken")
	}
}
