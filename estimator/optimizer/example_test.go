package optimizer_test

import (
	"fmt"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// SignSGD moves each element by the learning rate, in the direction of the mean of the
// gradients so far.
type SignSGD struct {
	optimizer.Common
	Momentum float64
}

func (o *SignSGD) Name() string { return "sign_sgd" }

func (o *SignSGD) Check() error {
	if o.Momentum < 0 || o.Momentum >= 1 {
		return fmt.Errorf("momentum is %v; it must be at least 0 and less than 1", o.Momentum)
	}
	return nil
}

func (o *SignSGD) Slots(optimizer.Variable) []optimizer.SlotKind {
	return []optimizer.SlotKind{{Name: "momentum"}}
}

func (o *SignSGD) Update(v *optimizer.State) *tfbridge.Operation {
	s := v.Scope()
	kept := graph.Mul(s, v.Slot(0), v.Number(o.Momentum))
	mean := v.SetSlot(0, graph.Add(s, kept, graph.Mul(s, v.Gradient(), v.Number(1-o.Momentum))))
	return v.Subtract(graph.Mul(s, v.Rate(), s.Op1("Sign", nil, mean)))
}

// Halving halves the learning rate after each number of steps.
type Halving struct {
	First float64
	Steps int64
}

func (h Halving) Check() error {
	if h.Steps < 1 {
		return fmt.Errorf("steps are %d; they must be positive", h.Steps)
	}
	return nil
}

func (h Halving) Rate(s *graph.Scope, step tfbridge.Output) tfbridge.Output {
	halvings := graph.Cast(s, graph.FloorDiv(s, step, s.Const(h.Steps)), tfbridge.Float)
	return graph.Mul(s, s.Const(float32(h.First)), s.Op1("Pow", nil, s.Const(float32(0.5)), halvings))
}

// An optimizer and a schedule from outside the package: types with a few methods. The
// embedded Common makes clipping, weight decay and the other settings work.
func Example() {
	s := graph.NewScope()
	defer s.Graph().Close()
	handle := func(name string, dt tfbridge.DataType) tfbridge.Output {
		return s.Op1("VarHandleOp", map[string]any{"dtype": dt, "shape": tfbridge.ScalarShape(), "shared_name": name})
	}
	set := func(handle, value tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, value}})
	}
	w := optimizer.Variable{Name: "w", Handle: handle("w", tfbridge.Float), DType: tfbridge.Float, Shape: tfbridge.ScalarShape()}
	value := s.Op1("ReadVariableOp", map[string]any{"dtype": w.DType}, w.Handle)
	step := handle("step", tfbridge.Int64)

	o := &SignSGD{Momentum: 0.5}
	o.LearningRate, o.ClipValue = Halving{First: 1, Steps: 2}, 10
	gradient := graph.Sub(s, value, s.Const(float32(3))) // the derivative: (w - 3)² / 2
	update := optimizer.Apply(s, o, step, []optimizer.Gradient{{Variable: w, Value: gradient}}, nil)
	start := []*tfbridge.Operation{set(w.Handle, s.Const(float32(0))), set(step, s.Const(int64(0)))}
	if s.Err() != nil {
		fmt.Println(s.Err())
		return
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	run := func(ops ...*tfbridge.Operation) {
		if _, err := session.Run(nil, nil, ops); err != nil {
			fmt.Println(err)
		}
	}
	run(append(start, update.Initialize)...)
	for range 4 {
		run(update.Op)
		out, err := session.Run(nil, []tfbridge.Output{value}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out[0].Value())
		out[0].Close()
	}
	// Output:
	// 1
	// 2
	// 2.5
	// 3
}
