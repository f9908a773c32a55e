package optimizer

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// accumulated adds the update, or operations that accumulate the gradients of several
// steps and update the variables by their mean in the last of them.
func (a *applier) accumulated(p place) *tfbridge.Operation {
	steps := a.common.GradientAccumulationSteps
	if steps <= 1 {
		var gradients []tfbridge.Output
		for _, v := range a.states {
			gradients = append(gradients, v.gradient)
		}
		return a.updates(p, a.states, gradients)
	}
	count := p.after.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, a.step)
	next := graph.FloorMod(p.after, graph.Add(p.after, count, p.after.Const(int64(1))), p.after.Const(steps))
	isUpdate := graph.Equal(p.after, next, p.after.Const(int64(0)))
	return a.cond(p, isUpdate, a.updateBySum, a.addToSum)
}

// sums returns the accumulated gradients, this step's included.
func (a *applier) sums(p place) []tfbridge.Output {
	var sums []tfbridge.Output
	for _, v := range a.states {
		in := *v
		in.place = p
		sums = append(sums, graph.Add(p.after, in.Gradient(), read(p.after, v.accumulator.Variable)))
	}
	return sums
}

// updateBySum updates the variables by the mean of the accumulated gradients and starts
// again from 0.
func (a *applier) updateBySum(p place) *tfbridge.Operation {
	var means []tfbridge.Output
	var computed []*tfbridge.Operation
	for i, sum := range a.sums(p) {
		means = append(means, div(p.s, sum, scalar(p.s, a.states[i].DType, float64(a.common.GradientAccumulationSteps))))
		computed = append(computed, means[i].Op)
	}
	var states []*State
	for _, v := range a.states { // an accumulated gradient covers all rows
		whole := *v
		whole.indices = tfbridge.Output{}
		states = append(states, &whole)
	}
	done := []*tfbridge.Operation{a.updates(p.then(computed...), states, means)}
	for _, v := range states {
		zero := graph.ZerosLike(p.after, read(p.after, v.accumulator.Variable))
		done = append(done, assign(p.then(computed...).after, "AssignVariableOp", v.accumulator.Handle, zero))
	}
	if p.s.Err() != nil {
		return nil
	}
	return graph.NoOp(p.s, done...)
}

// addToSum accumulates the gradients.
func (a *applier) addToSum(p place) *tfbridge.Operation {
	var done []*tfbridge.Operation
	for i, sum := range a.sums(p) {
		done = append(done, assign(p.after, "AssignVariableOp", a.states[i].accumulator.Handle, sum))
	}
	return graph.NoOp(p.s, done...)
}
