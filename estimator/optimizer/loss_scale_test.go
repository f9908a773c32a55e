package optimizer_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// A step whose gradients are not finite halves the scale and changes nothing else; steps
// with finite gradients double it, as in Keras.
func TestLossScale(t *testing.T) {
	data, err := os.ReadFile("testdata/loss_scale.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Gradient            []string
		Scale               float32
		Counter, Iterations int64
		Variable            []float32
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	o := optimizer.NewSGD()
	o.LearningRate, o.Momentum = optimizer.Constant(0.1), 0.5
	o.LossScale = &optimizer.LossScale{InitialScale: 8, DynamicGrowthSteps: 2}
	v := optimizer.Variable{Name: "w", DType: tfbridge.Float, Shape: tfbridge.MakeShape(2)}
	v.Handle = s.Op1("VarHandleOp", map[string]any{"dtype": v.DType, "shape": v.Shape, "shared_name": v.Name})
	count := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": "step"})
	gradient := s.Placeholder(tfbridge.Float, v.Shape)
	scaling := optimizer.NewScaling(s, o)
	scaled := scaling.Loss(s, gradient) // stands for the derivative of the scaled loss
	update := optimizer.Apply(s, o, count, []optimizer.Gradient{{Variable: v, Value: scaling.Unscale(s, scaled)}}, &optimizer.ApplyOptions{Scaling: scaling})
	read := func(handle tfbridge.Output, dt tfbridge.DataType) tfbridge.Output {
		return s.Op1("ReadVariableOp", map[string]any{"dtype": dt}, handle)
	}
	set := func(handle, value tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, value}})
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	fetch := []tfbridge.Output{read(v.Handle, v.DType), read(count, tfbridge.Int64)}
	for _, slot := range update.Slots[1:] {
		fetch = append(fetch, read(slot.Handle, slot.DType))
	}
	start := []*tfbridge.Operation{set(count, s.Const(int64(0))), set(v.Handle, s.Const([]float32{1, 2})), update.Initialize}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if _, err := session.Run(nil, nil, start); err != nil {
		t.Fatal(err)
	}
	for i, step := range want {
		feed := make([]float32, len(step.Gradient))
		for k, text := range step.Gradient {
			g, err := strconv.ParseFloat(text, 32)
			if err != nil {
				t.Fatal(err)
			}
			feed[k] = float32(g)
		}
		in, err := tfbridge.NewTensor(feed)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{gradient: in}, nil, []*tfbridge.Operation{update.Op}); err != nil {
			t.Fatal(err)
		}
		out, err := session.Run(nil, fetch, nil)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "variable", out[0].Value().([]float32), step.Variable)
		if n, scale, c := out[1].Value().(int64), out[2].Value().(float32), out[3].Value().(int32); n != step.Iterations || scale != step.Scale || int64(c) != step.Counter {
			t.Errorf("step %d: %d updates, scale %v, counter %d; Keras has %+v", i, n, scale, c, step)
		}
		for _, o := range out {
			o.Close()
		}
	}
}
