package optimizer

import (
	"cmp"
	"math"
	"strings"

	"millrace/graph"
	"millrace/tfbridge"
)

// LossScale is keras.optimizers.LossScaleOptimizer: a factor of the loss that halves,
// without an update of the variables, when a gradient is not finite, and doubles after
// a number of steps in which all were.
type LossScale struct {
	InitialScale       float64 // 0: 32768
	DynamicGrowthSteps int64   // 0: 2000
}

// Scaling is the scale of a loss in a graph.
type Scaling struct {
	dynamic        *LossScale // nil: the factor is constant
	factor         tfbridge.Output
	scale, counter Slot
}

// NewScaling adds the scale that an optimizer asks for, nil if it asks for none or
// after a failure. Train by the derivatives of Scaling.Loss, pass them through
// Scaling.Unscale and give the Scaling to [Apply].
func NewScaling(s *graph.Scope, o Optimizer) *Scaling {
	if o == nil || s.Err() != nil {
		return nil
	}
	c := o.Settings()
	switch {
	case c.LossScale != nil:
		sub := s.SubScope("loss_scale")
		sc := &Scaling{dynamic: c.LossScale}
		sc.scale = scalarSlot(sub, "loss_scale_optimizer/dynamic_scale", tfbridge.Float)
		sc.scale.Initial = cmp.Or(c.LossScale.InitialScale, 1<<15)
		sc.counter = scalarSlot(sub, "loss_scale_optimizer/step_counter", tfbridge.Int32)
		sc.factor = read(sub, sc.scale.Variable)
		return sc
	case c.LossScaleFactor != 0 && c.LossScaleFactor != 1:
		return &Scaling{factor: float(s, c.LossScaleFactor)}
	}
	return nil
}

// sharedDevice is the key of a scope's value: the device of variables that belong to no
// variable of the model.
type sharedDevice struct{}

// WithShared returns a scope in which slots that belong to all variables, such as a
// learning rate, are on a device.
func WithShared(s *graph.Scope, device string) *graph.Scope {
	return s.WithValue(sharedDevice{}, device)
}

// Shared returns a scope that places operations on the device of [WithShared].
func Shared(s *graph.Scope) *graph.Scope {
	if device, _ := s.Value(sharedDevice{}).(string); device != "" {
		return s.WithDevice(device)
	}
	return s
}

// scalarSlot makes a slot that belongs to all variables.
func scalarSlot(s *graph.Scope, name string, dt tfbridge.DataType) Slot {
	kind := name[strings.LastIndexByte(name, '/')+1:]
	v := Variable{Name: name, DType: dt, Shape: tfbridge.ScalarShape()}
	sub := s.SubScope(kind)
	v.Handle = Shared(sub).Op1("VarHandleOp", map[string]any{"dtype": dt, "shape": v.Shape, "shared_name": strings.TrimSuffix(sub.Prefix(), "/")})
	return Slot{Variable: v, Kind: kind}
}

// Loss returns the scaled loss. A nil Scaling returns the loss itself.
func (sc *Scaling) Loss(s *graph.Scope, loss tfbridge.Output) tfbridge.Output {
	if sc == nil || s.Err() != nil {
		return loss
	}
	return graph.Mul(s, loss, graph.Cast(s, sc.factor, loss.DataType()))
}

// Unscale divides a derivative of the scaled loss by the scale. A nil Scaling returns
// the derivative itself.
func (sc *Scaling) Unscale(s *graph.Scope, gradient tfbridge.Output) tfbridge.Output {
	if sc == nil || s.Err() != nil || gradient.Op == nil {
		return gradient
	}
	return div(s, gradient, graph.Cast(s, sc.factor, gradient.DataType()))
}

// slots returns the slots that belong in a checkpoint.
func (sc *Scaling) slots() []Slot {
	if sc.dynamic == nil {
		return nil
	}
	return []Slot{sc.scale, sc.counter}
}

// finite reports whether all gradients are finite.
func (sc *Scaling) finite(s *graph.Scope, states []*State) tfbridge.Output {
	var all []tfbridge.Output
	for _, v := range states {
		all = append(all, graph.ReduceAll(s, graph.IsFinite(s, v.gradient)))
	}
	return graph.ReduceAll(s, graph.Pack(s, all, 0))
}

// grow counts a step with finite gradients, and doubles the scale in the last of the
// growth steps.
func (sc *Scaling) grow(p place, done *tfbridge.Operation) *tfbridge.Operation {
	s := p.s
	if s.Err() != nil {
		return nil
	}
	count, scale := read(s, sc.counter.Variable), read(s, sc.scale.Variable)
	last := graph.Equal(s, count, s.Const(int32(cmp.Or(sc.dynamic.DynamicGrowthSteps, 2000)-1)))
	next := graph.Select(s, last, s.Const(int32(0)), graph.Add(s, count, s.Const(int32(1))))
	factor := graph.Select(s, last, float(s, 2), float(s, 1))
	return graph.NoOp(s, done, assign(s, "AssignVariableOp", sc.counter.Handle, next),
		assign(s, "AssignVariableOp", sc.scale.Handle, graph.Mul(s, scale, factor)))
}

// halve halves the scale and counts from 0.
func (sc *Scaling) halve(p place) *tfbridge.Operation {
	s := p.s
	half := graph.Mul(s, read(s, sc.scale.Variable), float(s, 0.5))
	return graph.NoOp(s, assign(s, "AssignVariableOp", sc.counter.Handle, s.Const(int32(0))), assign(s, "AssignVariableOp", sc.scale.Handle, half))
}

// check checks the scale.
func (l *LossScale) check() error {
	switch {
	case l.InitialScale < 0 || math.IsNaN(l.InitialScale) || math.IsInf(l.InitialScale, 0):
		return errorf("initial_scale is %v; it must be positive", l.InitialScale)
	case l.DynamicGrowthSteps < 0 || l.DynamicGrowthSteps > math.MaxInt32:
		return errorf("dynamic_growth_steps is %d; it must be positive and at most %d", l.DynamicGrowthSteps, math.MaxInt32)
	}
	return nil
}
