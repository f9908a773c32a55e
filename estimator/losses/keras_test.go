package losses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator/losses"
	"millrace/graph"
	"millrace/tfbridge"
)

// values is a tensor that testdata/record.py wrote.
type values struct {
	Shape  []int64
	Values []float32
}

// output adds the values as a constant, on request as integers.
func (v *values) output(t *testing.T, s *graph.Scope, integers bool) tfbridge.Output {
	if v == nil {
		return tfbridge.Output{}
	}
	c, err := tfbridge.NewTensorFromSlice(v.Shape, v.Values)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if integers {
		return graph.Cast(s, s.Const(c), tfbridge.Int32)
	}
	return s.Const(c)
}

// recorded is a loss that Keras computed.
type recorded struct {
	Loss                                   losses.Loss
	Labels, Predictions, Weights, Gradient *values
	Integers                               bool
	Value                                  float32
}

func readRecorded(t *testing.T) []recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/keras.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each loss has the same value as Keras's.
func TestKeras(t *testing.T) {
	for i, r := range readRecorded(t) {
		t.Run(fmt.Sprintf("%d_%s", i, r.Loss.Type), func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			predictions := r.Predictions.output(t, s, false)
			loss := r.Loss.Add(s, losses.Values{
				Labels: r.Labels.output(t, s, r.Integers), Predictions: predictions, Weights: r.Weights.output(t, s, false),
			})
			near(t, "loss", run(t, s, loss), []float32{r.Value})
		})
	}
}

// run computes an output.
func run(t *testing.T, s *graph.Scope, o tfbridge.Output) []float32 {
	t.Helper()
	out, err := graph.Exec(t.Context(), s, []tfbridge.Output{o}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	got, err := tfbridge.View[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), got...)
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if diff := math.Abs(float64(got[i] - want[i])); !(diff <= 1e-6*math.Max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s[%d] is %v, Keras has %v", what, i, got[i], want[i])
		}
	}
}

// Losses of predictions in half precision are computed in float32, as in Keras: rounded to the
// type, the loss of a step would lose its last digits.
func TestHalfPrecision(t *testing.T) {
	value := func(t *testing.T, l losses.Loss, dt tfbridge.DataType) float64 {
		s := graph.NewScope()
		defer s.Graph().Close()
		predictions := graph.Cast(s, s.Const([][]float32{{0.25, 0.75}, {0.5, 3}}), dt)
		if l.Probabilities {
			predictions = graph.Cast(s, s.Const([][]float32{{0.25, 0.75}, {0.5, 0.5}}), dt)
		}
		loss := l.Add(s, losses.Values{Labels: s.Const([][]float32{{0, 1}, {1, 0}}), Predictions: predictions})
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		if got := loss.DataType(); got != tfbridge.Float {
			t.Errorf("the loss is %v, want float32", got)
		}
		return float64(run(t, s, graph.Cast(s, loss, tfbridge.Float))[0])
	}
	for _, l := range []losses.Loss{
		{Type: losses.Huber, Delta: 0.5}, {Type: losses.SigmoidCrossEntropy}, {Type: losses.SigmoidCrossEntropy, Probabilities: true},
		{Type: losses.SoftmaxCrossEntropy, Probabilities: true}, {Type: losses.MeanSquaredError},
	} {
		for _, dt := range []tfbridge.DataType{tfbridge.Half, tfbridge.Bfloat16} {
			t.Run(fmt.Sprint(&l, " ", dt), func(t *testing.T) {
				got, want := value(t, l, dt), value(t, l, tfbridge.Float)
				if got != want {
					t.Errorf("got %v, in float32 it is %v", got, want)
				}
			})
		}
	}
}

// Losses of predictions of float64 have constants of float64.
func TestDouble(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	l := losses.Loss{Type: losses.Huber, Delta: 0.1}
	loss := l.Add(s, losses.Values{Labels: s.Const([][]float64{{1}}), Predictions: s.Const([][]float64{{0}})})
	off := s.Op1("Abs", nil, graph.Sub(s, loss, s.Const(0.1*(1-0.1/2))))
	if got := run(t, s, graph.Cast(s, graph.Mul(s, off, s.Const(1e12)), tfbridge.Float)); got[0] > 1 {
		t.Errorf("the loss differs by %v e-12", got[0])
	}
}

// Labels and predictions of different shapes are refused: broadcast, they would train something else.
func TestShapesThatDisagree(t *testing.T) {
	for want, shapes := range map[string][2]tfbridge.Shape{
		"":                     {tfbridge.MakeShape(-1, 4), tfbridge.MakeShape(-1, 4)},
		"make classes one-hot": {tfbridge.MakeShape(-1), tfbridge.MakeShape(-1, 4)},
		"[?, 3] and the pred":  {tfbridge.MakeShape(-1, 3), tfbridge.MakeShape(-1, 4)},
		"at the same places":   {tfbridge.MakeShape(-1, 2, 4), tfbridge.MakeShape(-1, 4)},
	} {
		s := graph.NewScope()
		l := losses.Loss{Type: losses.SoftmaxCrossEntropy}
		l.Add(s, losses.Values{Labels: s.Placeholder(tfbridge.Float, shapes[0]), Predictions: s.Placeholder(tfbridge.Float, shapes[1])})
		if err := s.Err(); want == "" && err != nil || want != "" && (!errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, want %q", shapes, err, want)
		}
		s.Graph().Close()
	}
}
