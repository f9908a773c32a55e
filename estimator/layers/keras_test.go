package layers

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// recorded is a record by testdata/record.py.
type recorded struct {
	Lengths []int32
	Cases   map[string]struct {
		X, Y           recordedTensor
		Weights, After map[string]recordedTensor
	}
}

type recordedTensor struct {
	Shape    []int64
	Integers bool
	Values   []float32
	Strings  []string // set instead of Values for strings
}

// tensor returns the tensor. The caller closes it.
func (r recordedTensor) tensor(t *testing.T) *tfbridge.Tensor {
	t.Helper()
	var made *tfbridge.Tensor
	var err error
	if r.Strings != nil {
		text := make([][]byte, len(r.Strings))
		for i, s := range r.Strings {
			text[i] = []byte(s)
		}
		made, err = tfbridge.NewStringTensor(r.Shape, text)
	} else if r.Integers {
		ints := make([]int32, len(r.Values))
		for i, v := range r.Values {
			ints[i] = int32(v)
		}
		made, err = tfbridge.NewTensorFromSlice(r.Shape, ints)
	} else {
		made, err = tfbridge.NewTensorFromSlice(r.Shape, r.Values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// kerasCases are the layers of testdata/record.py.
var kerasCases = map[string]func(n *Net, x, lengths tfbridge.Output) tfbridge.Output{
	"dense": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Dense(n, x, 4, &DenseOptions{Activation: Relu})
	},
	"dense_3d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Dense(n, x, 4, &DenseOptions{Activation: Gelu})
	},
	"conv2d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv2D(n, x, 4, []int64{3, 2}, &ConvOptions{Activation: Tanh})
	},
	"conv2d_same": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv2D(n, x, 4, []int64{3, 3}, &ConvOptions{Strides: []int64{2, 2}, Same: true})
	},
	"conv2d_dilated": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv2D(n, x, 2, []int64{2, 2}, &ConvOptions{Dilation: []int64{2, 2}, NoBias: true})
	},
	"max_pool": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return MaxPool2D(n, x, []int64{2, 2}, nil) },
	"average_pool": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return AveragePool2D(n, x, []int64{3, 2}, &PoolOptions{Strides: []int64{1, 1}, Same: true})
	},
	"global_pool": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return GlobalAveragePool2D(n, x) },
	"embedding":   func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return Embedding(n, x, 6, 4, nil) },
	"batch_norm":  func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return BatchNormalization(n, x, nil) },
	"batch_norm_train": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return BatchNormalization(n, x, &NormalizationOptions{Momentum: 0.9})
	},
	"layer_norm": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return LayerNormalization(n, x, &NormalizationOptions{Epsilon: 1e-5})
	},
	"lstm": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return LSTM(n, x, 3, nil) },
	"lstm_lengths": func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
		return LSTM(n, x, 3, &RecurrentOptions{ReturnSequences: true, Lengths: lengths})
	},
	"gru": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return GRU(n, x, 3, &RecurrentOptions{ReturnSequences: true})
	},
	"gru_lengths": func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
		return GRU(n, x, 3, &RecurrentOptions{Lengths: lengths})
	},
	"attention": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return MultiHeadAttention(n, x, x, 2, &AttentionOptions{KeySize: 3})
	},
	"attention_causal": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return MultiHeadAttention(n, x, x, 2, &AttentionOptions{KeySize: 3, Causal: true})
	},
	"attention_lengths": func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
		return MultiHeadAttention(n, x, x, 2, &AttentionOptions{KeySize: 3, Lengths: lengths})
	},
	"conv1d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv1D(n, x, 4, 3, &ConvOptions{Strides: []int64{2}, Activation: Relu})
	},
	"conv1d_causal": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv1D(n, x, 3, 2, &ConvOptions{Dilation: []int64{2}, Causal: true})
	},
	"conv2d_transpose": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv2DTranspose(n, x, 2, []int64{3, 2}, &ConvOptions{Strides: []int64{2, 2}})
	},
	"conv2d_transpose_same": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Conv2DTranspose(n, x, 2, []int64{3, 3}, &ConvOptions{Strides: []int64{2, 1}, Same: true, NoBias: true})
	},
	"depthwise": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return DepthwiseConv2D(n, x, []int64{3, 3}, &DepthwiseOptions{Stride: 2, Multiplier: 2, Activation: Tanh})
	},
	"separable": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return SeparableConv2D(n, x, 5, []int64{3, 2}, &DepthwiseOptions{Same: true, Multiplier: 2})
	},
	"max_pool_1d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return MaxPool1D(n, x, 2, nil) },
	"average_pool_1d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return AveragePool1D(n, x, 3, &PoolOptions{Strides: []int64{1}, Same: true})
	},
	"global_average_1d": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return GlobalAveragePool1D(n, x) },
	"global_max_1d":     func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return GlobalMaxPool1D(n, x) },
	"global_max":        func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return GlobalMaxPool2D(n, x) },
	"upsampling":        func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return UpSampling2D(n, x, []int64{2, 3}) },
	"zero_padding": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return ZeroPadding2D(n, x, [2]int64{1, 0}, [2]int64{2, 1})
	},
	"simple_rnn": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return SimpleRNN(n, x, 3, &RecurrentOptions{ReturnSequences: true})
	},
	"bidirectional": func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return Bidirectional(n, x, LSTM, 3, nil) },
	"bidirectional_sequences": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Bidirectional(n, x, LSTM, 3, &BidirectionalOptions{ReturnSequences: true})
	},
	"bidirectional_lengths": func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
		return Bidirectional(n, x, GRU, 3, &BidirectionalOptions{Lengths: lengths})
	},
	"bidirectional_sum": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Bidirectional(n, x, GRU, 3, &BidirectionalOptions{ReturnSequences: true, Merge: MergeSum})
	},
	"bidirectional_ave": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Bidirectional(n, x, SimpleRNN, 3, &BidirectionalOptions{Merge: MergeAve})
	},
	"bidirectional_mul": func(n *Net, x, _ tfbridge.Output) tfbridge.Output {
		return Bidirectional(n, x, SimpleRNN, 3, &BidirectionalOptions{Merge: MergeMul})
	},
	"relu6":       activation(Relu6),
	"leaky_relu":  activation(LeakyRelu),
	"selu":        activation(Selu),
	"softplus":    activation(Softplus),
	"softsign":    activation(Softsign),
	"exponential": activation(Exponential),
	"log_softmax": activation(LogSoftmax),
	"elu":         activation(Elu),
	"swish":       activation(Swish),
	"softmax":     activation(Softmax),
}

// activation is a layer that is an activation alone.
func activation(a Activation) func(n *Net, x, lengths tfbridge.Output) tfbridge.Output {
	return func(n *Net, x, _ tfbridge.Output) tfbridge.Output { return a(n, x) }
}

// Each layer has the same variables as Keras's, and gives the same result with the same
// values.
func TestKeras(t *testing.T) { compareWithKeras(t, "testdata/keras.json", kerasCases) }

// compareWithKeras compares layers with recorded ones.
func compareWithKeras(t *testing.T, file string, cases map[string]func(n *Net, x, lengths tfbridge.Output) tfbridge.Output) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != len(cases) {
		t.Errorf("%d layers, %d cases are recorded", len(cases), len(r.Cases))
	}
	for name, c := range r.Cases {
		if cases[name] == nil {
			t.Errorf("no layer for the recorded case %q", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			x := c.X.tensor(t)
			defer x.Close()
			shape := append([]int64{-1}, c.X.Shape[1:]...)
			m := &Model{
				Features: []TensorSpec{{Name: "x", DType: x.DataType(), Shape: tfbridge.MakeShape(shape...)}},
				Function: func(n *Net, features, _ Tensors) *Spec {
					y := cases[name](n, features["x"], n.Const(r.Lengths))
					// A model of a layer without variables cannot be trained.
					bias := n.Variable("bias_of_loss", nil, &VariableOptions{Initializer: Zeros})
					loss := graph.Add(n.Scope, bias, graph.ReduceSum(n.Scope, y))
					return &Spec{Predictions: Tensors{"y": y}, Loss: loss, Optimizer: optimizer.NewSGD()}
				},
			}
			b := newBuilt(t, m)
			for path, w := range c.Weights {
				b.set(t, path, w)
			}
			if n := len(b.store.all); n != len(c.Weights)+2 {
				t.Errorf("%d variables, Keras has %d", n-2, len(c.Weights))
			}
			key := "serving_default"
			if strings.HasSuffix(name, "_train") {
				key = "train"
			}
			sig := b.signatures[key]
			fetch := []tfbridge.Output{sig.outputs["y"]}
			if key == "train" {
				fetch = append(fetch, sig.outputs["loss"])
			}
			got := b.run(t, map[tfbridge.Output]*tfbridge.Tensor{sig.inputs["x"]: x}, fetch...)
			near(t, "y", got[0], c.Y.Values)
			for path, w := range c.After {
				near(t, path, b.run(t, nil, b.find(t, path).read)[0], w.Values)
			}
		})
	}
}

// builtModel is a model in a session.
type builtModel struct {
	*built
	session *tfbridge.Session
}

func newBuilt(t testing.TB, m *Model) *builtModel {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	b, err := m.build(s)
	if err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	var assigns []*tfbridge.Operation
	for _, v := range b.store.all {
		assigns = append(assigns, v.assign)
	}
	if _, err := session.Run(nil, nil, assigns); err != nil {
		t.Fatal(err)
	}
	return &builtModel{b, session}
}

// find returns the variable of a path within its layer.
func (b *builtModel) find(t *testing.T, path string) *Variable {
	t.Helper()
	for _, v := range b.store.all {
		if _, within, _ := strings.Cut(v.Name, "/"); within == path {
			return v
		}
	}
	t.Fatalf("no variable %q", path)
	return nil
}

// set assigns a value to a variable.
func (b *builtModel) set(t *testing.T, path string, w recordedTensor) {
	t.Helper()
	v := b.find(t, path)
	value := w.tensor(t)
	defer value.Close()
	if _, err := b.session.Run(map[tfbridge.Output]*tfbridge.Tensor{v.initial: value}, nil, []*tfbridge.Operation{v.assign}); err != nil {
		t.Fatal(err)
	}
}

// run computes outputs.
func (b *builtModel) run(t *testing.T, feeds map[tfbridge.Output]*tfbridge.Tensor, fetch ...tfbridge.Output) [][]float32 {
	t.Helper()
	out, err := b.session.Run(feeds, fetch, nil)
	if err != nil {
		t.Fatal(err)
	}
	var values [][]float32
	for _, o := range out {
		v, err := tfbridge.View[float32](o)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, append([]float32(nil), v...))
		o.Close()
	}
	return values
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if diff := math.Abs(float64(got[i] - want[i])); !(diff <= 2e-6*math.Max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s[%d] is %v, Keras has %v", what, i, got[i], want[i])
			return
		}
	}
}
