package optimizer

import (
	"strings"

	"millrace/graph"
	"millrace/tfbridge"
)

// updater adds the operations of one update step.
type updater struct {
	s     *graph.Scope // scope of operations that only compute
	after *graph.Scope // scope of operations that change variables
	rate  tfbridge.Output
	step  tfbridge.Output // a float scalar: the number of this step, from 1
}

func newUpdater(s *graph.Scope, o Optimizer, step tfbridge.Output) *updater {
	count := s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, step)
	u := &updater{s: s}
	u.step = graph.Cast(s, graph.Add(s, count, s.Const(int64(1))), tfbridge.Float)
	u.rate = o.common().LearningRate.rate(s.SubScope("learning_rate"), count)
	return u
}

// barrier makes changes wait for the gradients and other operations.
func (u *updater) barrier(gradients []Gradient, after []*tfbridge.Operation) {
	all := append([]*tfbridge.Operation(nil), after...)
	for _, g := range gradients {
		all = append(all, g.Value.Op)
		if g.Indices.Op != nil {
			all = append(all, g.Indices.Op)
		}
	}
	u.after = u.s.WithControlDependencies(graph.NoOp(u.s, all...))
}

// globalNorm returns the square root of the sum of the squares of all gradients.
func (u *updater) globalNorm(gradients []Gradient) tfbridge.Output {
	var squares tfbridge.OutputList
	for _, g := range gradients {
		squares = append(squares, graph.Cast(u.s, graph.ReduceSum(u.s, square(u.s, g.Value)), tfbridge.Float))
	}
	return sqrt(u.s, u.s.Op1("AddN", nil, squares))
}

// clip scales gradients so that their norm is at most limit. A norm that is not
// finite makes all of them NaN, as in Keras: no variable then takes a wrong value
// that looks right.
func (u *updater) clip(gradients []Gradient, norm tfbridge.Output, limit float64) []Gradient {
	s := u.s
	most := graph.Minimum(s, div(s, scalar(s, tfbridge.Float, 1), norm), scalar(s, tfbridge.Float, 1/limit))
	scale := graph.Add(s, graph.Mul(s, scalar(s, tfbridge.Float, limit), most), graph.Sub(s, norm, norm))
	clipped := make([]Gradient, len(gradients))
	for i, g := range gradients {
		g.Value = graph.Mul(s, g.Value, graph.Cast(s, scale, g.Variable.DType))
		clipped[i] = g
	}
	return clipped
}

// state is what an update rule works on.
type state struct {
	Variable
	gradient tfbridge.Output // gradient, of the variable's shape; with indices, of its rows
	indices  tfbridge.Output // unset: the gradient is whole
	rate     tfbridge.Output // learning rate, of the variable's data type
	slots    []Slot          // slots in the optimizer's order
}

// state makes the slots of a variable.
func (u *updater) state(o Optimizer, g Gradient) *state {
	st := &state{Variable: g.Variable, gradient: g.Value, indices: g.Indices, rate: graph.Cast(u.s, u.rate, g.Variable.DType)}
	for _, kind := range o.slots() {
		name := slotName(g.Variable.Name, kind.name)
		sub := u.s.SubScope(name)
		shared := strings.TrimSuffix(sub.Prefix(), "/")
		slot := Slot{Variable: g.Variable, Kind: kind.name, Of: g.Variable.Name, Initial: kind.initial}
		slot.Name = o.Name() + "/" + name
		slot.Handle = sub.Op1("VarHandleOp", map[string]any{"dtype": g.Variable.DType, "shape": g.Variable.Shape, "shared_name": shared})
		st.slots = append(st.slots, slot)
	}
	return st
}

// initialize sets a slot to its initial value.
func (u *updater) initialize(slot Slot) *tfbridge.Operation {
	dims := make([]int64, slot.Shape.NumDimensions())
	for i := range dims {
		dims[i] = slot.Shape.Size(i)
	}
	value := graph.Fill(u.s, u.s.Const(dims), scalar(u.s, slot.DType, slot.Initial))
	return assign(u.s, "AssignVariableOp", slot.Handle, value)
}

// decayed adds the update of a variable, after the weight decay.
func (u *updater) decayed(o Optimizer, v *state) *tfbridge.Operation {
	decay := o.common().WeightDecay
	if decay == 0 {
		return o.update(u, v)
	}
	taken := graph.Mul(u.after, graph.Mul(u.after, read(u.after, v.Variable), u.number(v, decay)), v.rate)
	return o.update(u.then(assign(u.after, "AssignSubVariableOp", v.Handle, taken)), v)
}

// number returns a constant of a variable's data type.
func (u *updater) number(v *state, value float64) tfbridge.Output {
	return scalar(u.s, v.DType, value)
}

// power returns base to the power of the number of this step.
func (u *updater) power(v *state, base float64) tfbridge.Output {
	return u.s.Op1("Pow", nil, u.number(v, base), graph.Cast(u.s, u.step, v.DType))
}

// apply adds one of TensorFlow's training operations on a variable, slots and
// further inputs.
func (u *updater) apply(opType string, attrs map[string]any, inputs ...tfbridge.Output) *tfbridge.Operation {
	spec := tfbridge.OpSpec{Type: opType, Attrs: attrs}
	for _, in := range inputs {
		spec.Input = append(spec.Input, in)
	}
	return u.after.AddOperation(spec)
}
