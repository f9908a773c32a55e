package trainstep_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// linear is the model of y = x w + b with w [[1, -1], [2, 0.5], [0.25, 4]] and
// b [0.5, -0.5].
const linear = "../../testdata/models/linear"

// prepare loads the linear model and returns options that train it on one batch.
func prepare(t *testing.T) (*graph.Model, *graph.Scope, *trainstep.Options) {
	t.Helper()
	m, err := graph.LoadModel(linear, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s := graph.NewScopeWithGraph(m.Graph()).SubScope("train")
	sig := m.Signatures()[graph.DefaultSignature]
	sgd := optimizer.NewSGD()
	sgd.LearningRate = optimizer.Constant(0.5)
	return m, s, &trainstep.Options{
		Feeds:     map[string]tfbridge.Output{sig.Inputs["x"].Name: s.Const([][]float32{{1, 0, 2}})},
		Outputs:   map[string]string{"y": sig.Outputs["y"].Name},
		Labels:    s.Const([][]float32{{1, 6}}),
		Loss:      &losses.Loss{Type: losses.MeanSquaredError},
		Optimizer: sgd,
	}
}

// A step updates the variables by the derivatives of the loss that it reports, and
// its outputs are those before the update.
func TestStep(t *testing.T) {
	m, s, o := prepare(t)
	step := trainstep.Add(s, o)
	if step == nil {
		t.Fatal(s.Err())
	}
	run := func(fetch []tfbridge.Output, ops ...*tfbridge.Operation) [][]float32 {
		out, err := m.Session().Run(nil, fetch, ops)
		if err != nil {
			t.Fatal(err)
		}
		var values [][]float32
		for _, v := range out {
			x, err := tfbridge.View[float32](v)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, append([]float32(nil), x...))
			v.Close()
		}
		return values
	}
	run(nil, step.Reset)
	// y = [2, 6.5] with y - label = [1, 0.5]: the derivative of the mean of the squares is [1, 0.5].
	got := run([]tfbridge.Output{step.Loss, step.Outputs["y"]}, step.Update.Op)
	if got[0][0] != 0.625 || got[1][0] != 2 || got[1][1] != 6.5 {
		t.Errorf("loss and outputs are %v, want 0.625 and [2 6.5]", got)
	}
	// w -= 0.5 x' [1, 0.5], b -= 0.5 [1, 0.5]: y changes by -0.5 (1 + 0 + 4 + 1) [1, 0.5].
	got = run([]tfbridge.Output{step.Outputs["y"]})
	if got[0][0] != -1 || got[0][1] != 5 {
		t.Errorf("after the update y is %v, want [-1 5]", got)
	}
}

// The optimizer changes the value that the signature has assigned to a variable, so the update waits
// for the assignment.
func TestUpdateWaitsForAssignment(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	w := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Float, "shape": tfbridge.MakeShape(1, 1), "shared_name": "w"})
	read := func(s *graph.Scope) tfbridge.Output {
		return s.Op1("EnsureShape", map[string]any{"shape": tfbridge.MakeShape(1, 1)}, s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, w))
	}
	assigned := s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{w, graph.Mul(s, read(s), s.Const(float32(2)))}})
	x := s.Const([][]float32{{1}})
	y := graph.Identity(s, graph.Mul(s, x, read(s.WithControlDependencies(assigned))))
	o := &trainstep.Options{Outputs: map[string]string{"y": y.String()}, Labels: x, Loss: &losses.Loss{Type: losses.MeanSquaredError}, Optimizer: optimizer.NewSGD()}
	step := trainstep.Add(s.SubScope("train"), o)
	if step == nil {
		t.Fatal(s.Err())
	}
	seen := map[string]bool{}
	var waits func(op *tfbridge.Operation) bool
	waits = func(op *tfbridge.Operation) bool {
		if seen[op.Name()] {
			return false
		}
		seen[op.Name()] = true
		if op.Type() == "AssignVariableOp" && strings.Contains(op.Name(), "changes/") {
			return true
		}
		before := op.ControlInputs()
		for _, in := range op.Inputs() {
			before = append(before, in.Op)
		}
		return slices.ContainsFunc(before, waits)
	}
	if !waits(step.Update.Op) {
		t.Error("the update does not wait")
	}
}

// A penalty for large variables is part of the loss and of its derivatives.
func TestL2(t *testing.T) {
	m, s, o := prepare(t)
	o.L2 = 0.25
	o.Select = func(v gradients.Variable) bool { return v.Name == "b" }
	step := trainstep.Add(s, o)
	if step == nil {
		t.Fatal(s.Err())
	}
	if len(step.Variables) != 1 || step.Variables[0].Name != "b" {
		t.Fatalf("it trains %v, want b", step.Variables)
	}
	out, err := m.Exec(t.Context(), []tfbridge.Output{step.Loss, step.Gradients[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	loss, _ := tfbridge.View[float32](out[0])
	d, _ := tfbridge.View[float32](out[1])
	if math.Abs(float64(loss[0])-(0.625+0.25*0.5)) > 1e-6 || d[0] != 1+0.25 || d[1] != 0.5-0.25 {
		t.Errorf("loss %v and derivative %v, want 0.75 and [1.25 0.25]", loss, d)
	}
	for _, v := range out {
		v.Close()
	}
}

// A model that cannot be trained is an error before anything runs.
func TestNothingToTrain(t *testing.T) {
	tests := map[string]struct {
		class millrace.Class
		edit  func(o *trainstep.Options)
	}{
		"there is nothing to train: 0 variables": {millrace.ErrModel, func(o *trainstep.Options) { o.Select = func(gradients.Variable) bool { return false } }},
		`no output "z"`:                          {millrace.ErrModel, func(o *trainstep.Options) { o.Predictions = "z" }},
		"a loss and an optimizer":                {millrace.ErrConfig, func(o *trainstep.Options) { o.Optimizer = nil }},
		"reduced to one number":                  {millrace.ErrConfig, func(o *trainstep.Options) { o.Loss.Reduction = losses.None }},
		"l2 is -1":                               {millrace.ErrConfig, func(o *trainstep.Options) { o.L2 = -1 }},
		"beta_1 is 2": {millrace.ErrConfig, func(o *trainstep.Options) {
			adam := optimizer.NewAdam()
			adam.Beta1 = 2
			o.Optimizer = adam
		}},
	}
	for want, test := range tests {
		_, s, o := prepare(t)
		test.edit(o)
		if step := trainstep.Add(s, o); step != nil {
			t.Errorf("%s: there is a step", want)
		}
		if err := s.Err(); !errors.Is(err, test.class) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
