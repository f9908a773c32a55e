package optimizer_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// recorded is a record by testdata/record.py.
type recorded struct {
	Initial   map[string][]float32
	Gradients []map[string][]float32
	Cases     map[string]struct {
		Steps []struct {
			Rate      float32
			Variables map[string][]float32
		}
		Slots []struct {
			Name   string
			Values []float32
		}
	}
}

// cases are the optimizers of testdata/record.py.
var cases = map[string]func() (optimizer.Optimizer, float64){
	"sgd":              func() (optimizer.Optimizer, float64) { return optimizer.NewSGD(), 0 },
	"sgd_decay":        sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.WeightDecay = 0.05 }),
	"momentum":         sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.Momentum = 0.9 }),
	"nesterov":         sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.Momentum, o.Nesterov = 0.9, true }),
	"adam":             func() (optimizer.Optimizer, float64) { return optimizer.NewAdam(), 0 },
	"adam_amsgrad":     adam(0, func(o *optimizer.Adam) { o.Beta1, o.Beta2, o.AMSGrad = 0.8, 0.9, true }),
	"adam_clip":        adam(0.5, func(*optimizer.Adam) {}),
	"adamw":            adamW,
	"adagrad":          adagrad,
	"rmsprop":          rmsprop(func(o *optimizer.RMSprop) {}),
	"rmsprop_centered": rmsprop(func(o *optimizer.RMSprop) { o.Centered = true }),
	"rmsprop_momentum": rmsprop(func(o *optimizer.RMSprop) { o.Momentum = 0.5 }),
	"rmsprop_both":     rmsprop(func(o *optimizer.RMSprop) { o.Momentum, o.Centered = 0.5, true }),
	"exponential":      sgd(optimizer.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 2, DecayRate: 0.5}, nil),
	"staircase":        sgd(optimizer.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 2, DecayRate: 0.5, Staircase: true}, nil),
	"piecewise":        sgd(optimizer.PiecewiseConstantDecay{Boundaries: []int64{1, 3}, Values: []float64{0.1, 0.2, 0.4}}, nil),
	"cosine":           sgd(optimizer.CosineDecay{InitialLearningRate: 0.1, DecaySteps: 4, Alpha: 0.1}, nil),
	"lion":             rule(optimizer.NewLion, nil),
	"nadam":            rule(optimizer.NewNadam, nil),
	"adamax":           rule(optimizer.NewAdamax, nil),
	"adadelta": rule(optimizer.NewAdadelta, func(o *optimizer.Adadelta) {
		o.LearningRate, o.Epsilon = optimizer.Constant(0.5), 0.01
	}),
	"ftrl":       rule(optimizer.NewFtrl, func(o *optimizer.Ftrl) { o.L1, o.L2, o.L2Shrinkage, o.Beta = 0.01, 0.02, 0.03, 0.1 }),
	"ftrl_power": rule(optimizer.NewFtrl, func(o *optimizer.Ftrl) { o.LearningRatePower = -0.7 }),
	"lamb":       rule(optimizer.NewLamb, nil),
	"adafactor":  rule(optimizer.NewAdafactor, nil),
	"clipnorm":   sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.ClipNorm = 0.5 }),
	"clipvalue":  sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.ClipValue = 0.4 }),
	"decay_excluded": sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) {
		o.WeightDecay, o.ExcludeFromWeightDecay = 0.5, []string{"bias"}
	}),
	"ema": sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) { o.UseEMA, o.EMAMomentum = true, 0.8 }),
	"ema_overwrite": adam(0, func(o *optimizer.Adam) {
		o.UseEMA, o.EMAMomentum, o.EMAOverwriteFrequency = true, 0.8, 2
	}),
	"accumulate": adam(0.5, func(o *optimizer.Adam) { o.GradientAccumulationSteps = 2 }),
	"accumulate_ema": sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) {
		o.Momentum, o.GradientAccumulationSteps, o.UseEMA, o.WeightDecay = 0.9, 3, true, 0.1
	}),
	"polynomial":       sgd(optimizer.PolynomialDecay{InitialLearningRate: 0.1, DecaySteps: 4, EndLearningRate: 0.01, Power: 2}, nil),
	"polynomial_cycle": sgd(optimizer.PolynomialDecay{InitialLearningRate: 0.1, DecaySteps: 2, EndLearningRate: 0.01, Power: 1, Cycle: true}, nil),
	"inverse_time":     sgd(optimizer.InverseTimeDecay{InitialLearningRate: 0.1, DecaySteps: 2, DecayRate: 0.5}, nil),
	"restarts":         sgd(optimizer.CosineDecayRestarts{InitialLearningRate: 0.1, FirstDecaySteps: 2, TMul: 1.5, MMul: 0.9, Alpha: 0.1}, nil),
	"restarts_equal":   sgd(optimizer.CosineDecayRestarts{InitialLearningRate: 0.1, FirstDecaySteps: 2, TMul: 1, MMul: 0.5}, nil),
	"warmup_cosine":    sgd(optimizer.CosineDecay{InitialLearningRate: 0.01, DecaySteps: 3, WarmupTarget: 0.1, WarmupSteps: 2}, nil),
}

func sgd(rate optimizer.Schedule, set func(*optimizer.SGD)) func() (optimizer.Optimizer, float64) {
	return func() (optimizer.Optimizer, float64) {
		o := optimizer.NewSGD()
		o.LearningRate = rate
		if set != nil {
			set(o)
		}
		return o, 0
	}
}

// rule makes an optimizer with the learning rate 0.1, unless set changes it.
func rule[O optimizer.Optimizer](make func() O, set func(O)) func() (optimizer.Optimizer, float64) {
	return func() (optimizer.Optimizer, float64) {
		o := make()
		reflect.ValueOf(o).Elem().FieldByName("LearningRate").Set(reflect.ValueOf(optimizer.Constant(0.1)))
		if set != nil {
			set(o)
		}
		return o, 0
	}
}

func adam(clip float64, set func(*optimizer.Adam)) func() (optimizer.Optimizer, float64) {
	return func() (optimizer.Optimizer, float64) {
		o := optimizer.NewAdam()
		o.LearningRate = optimizer.Constant(0.1)
		set(o)
		return o, clip
	}
}

func adamW() (optimizer.Optimizer, float64) {
	o := optimizer.NewAdamW()
	o.LearningRate = optimizer.Constant(0.1)
	return o, 0
}

func adagrad() (optimizer.Optimizer, float64) {
	o := optimizer.NewAdagrad()
	o.LearningRate = optimizer.Constant(0.1)
	return o, 0
}

func rmsprop(set func(*optimizer.RMSprop)) func() (optimizer.Optimizer, float64) {
	return func() (optimizer.Optimizer, float64) {
		o := optimizer.NewRMSprop()
		o.LearningRate = optimizer.Constant(0.1)
		set(o)
		return o, 0
	}
}

// Each optimizer gives the same result in each step as Keras's, and keeps the same
// slots.
func TestKeras(t *testing.T) {
	data, err := os.ReadFile("testdata/keras.json")
	if err != nil {
		t.Fatal(err)
	}
	var want recorded
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for name := range want.Cases {
		if cases[name] == nil {
			t.Errorf("no optimizer for the recorded case %q", name)
		}
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			o, clip := make()
			tr := newTraining(t, &want, o, &optimizer.ApplyOptions{ClipNorm: clip})
			for i, step := range want.Cases[name].Steps {
				rate := tr.step(t, want.Gradients[i])
				near(t, "learning rate", []float32{rate}, []float32{step.Rate})
				for n, v := range step.Variables {
					near(t, n, tr.value(t, tr.variables[n]), v)
				}
			}
			slots := map[string]optimizer.Slot{}
			for _, s := range tr.update.Slots {
				slots[s.Name] = s
			}
			for _, s := range want.Cases[name].Slots {
				slot, ok := slots[kerasNumber(s.Name)]
				if !ok {
					t.Errorf("no slot %q among %v", s.Name, slices.Sorted(maps.Keys(slots)))
					continue
				}
				near(t, s.Name, tr.value(t, slot.Variable), s.Values)
			}
			maps.DeleteFunc(slots, func(_ string, s optimizer.Slot) bool { return s.Kind == "u_product" }) // Keras has one for all variables
			if len(slots) != len(want.Cases[name].Slots) {
				t.Errorf("%d slots, Keras has %d", len(slots), len(want.Cases[name].Slots))
			}
		})
	}
}

// kerasNumber drops the number that Keras gives the second optimizer of a type.
func kerasNumber(name string) string {
	for i := range name {
		if name[i] == '/' {
			end := i
			for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
				end--
			}
			if end < i {
				return name[:end-1] + name[i:]
			}
			return name
		}
	}
	return name
}

// near compares values. TensorFlow's training operations compute 1 - beta_2 from beta_2 as
// a float, Keras from 0.999 itself: that changes Adam's velocity by a relative 1.3e-5, and
// its step by half of it.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if diff := math.Abs(float64(got[i] - want[i])); !(diff <= 5e-6*math.Max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s[%d] is %v, Keras has %v", what, i, got[i], want[i])
		}
	}
}

// training is a graph that trains two variables by gradients that are fed.
type training struct {
	session   *tfbridge.Session
	update    *optimizer.Update
	variables map[string]optimizer.Variable
	feeds     map[string]tfbridge.Output
	read      map[tfbridge.Output]tfbridge.Output
}

func newTraining(t *testing.T, r *recorded, o optimizer.Optimizer, opts *optimizer.ApplyOptions) *training {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	tr := &training{variables: map[string]optimizer.Variable{}, feeds: map[string]tfbridge.Output{}, read: map[tfbridge.Output]tfbridge.Output{}}
	handle := func(name string, dt tfbridge.DataType, shape tfbridge.Shape) tfbridge.Output {
		return s.Op1("VarHandleOp", map[string]any{"dtype": dt, "shape": shape, "shared_name": name})
	}
	set := func(handle, value tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, value}})
	}
	step := handle("step", tfbridge.Int64, tfbridge.ScalarShape())
	initial := []*tfbridge.Operation{set(step, s.Const(int64(0)))}
	var gradients []optimizer.Gradient
	for _, v := range []optimizer.Variable{
		{Name: "dense/kernel", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2, 3)},
		{Name: "bias", DType: tfbridge.Float, Shape: tfbridge.MakeShape(3)},
	} {
		v.Handle = handle(v.Name, v.DType, v.Shape)
		tr.variables[v.Name] = v
		tr.feeds[v.Name] = s.Placeholder(v.DType, v.Shape)
		gradients = append(gradients, optimizer.Gradient{Variable: v, Value: tr.feeds[v.Name]})
		dims := s.Const([]int64{3})
		if v.Shape.NumDimensions() == 2 {
			dims = s.Const([]int64{2, 3})
		}
		initial = append(initial, set(v.Handle, graph.Reshape(s, s.Const(r.Initial[v.Name]), dims)))
	}
	if tr.update = optimizer.Apply(s, o, step, gradients, opts); tr.update == nil {
		t.Fatal(s.Err())
	}
	for _, v := range tr.variables {
		tr.reader(s, v)
	}
	for _, slot := range tr.update.Slots {
		tr.reader(s, slot.Variable)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	tr.session = session
	if _, err := session.Run(nil, nil, append(initial, tr.update.Initialize)); err != nil {
		t.Fatal(err)
	}
	return tr
}

// reader adds an operation that reads a variable.
func (tr *training) reader(s *graph.Scope, v optimizer.Variable) {
	tr.read[v.Handle] = s.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.Handle)
}

// step does one update and returns the learning rate.
func (tr *training) step(t *testing.T, gradients map[string][]float32) float32 {
	t.Helper()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{}
	for name, g := range gradients {
		shape := []int64{3}
		if len(g) == 6 {
			shape = []int64{2, 3}
		}
		tensor, err := tfbridge.NewTensorFromSlice(shape, g)
		if err != nil {
			t.Fatal(err)
		}
		defer tensor.Close()
		feeds[tr.feeds[name]] = tensor
	}
	out, err := tr.session.Run(feeds, []tfbridge.Output{tr.update.LearningRate}, []*tfbridge.Operation{tr.update.Op})
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	rate, err := tfbridge.View[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	return rate[0]
}

// value reads a variable.
func (tr *training) value(t *testing.T, v optimizer.Variable) []float32 {
	t.Helper()
	out, err := tr.session.Run(nil, []tfbridge.Output{tr.read[v.Handle]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	values, err := tfbridge.View[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(values)
}
