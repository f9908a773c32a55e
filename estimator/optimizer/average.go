package optimizer

import (
	"cmp"

	"millrace/graph"
	"millrace/tfbridge"
)

// averaged moves the averages of the variables, and puts them into the variables' place
// in every EMAOverwriteFrequency-th step.
func (a *applier) averaged(p place) []*tfbridge.Operation {
	s, c := p.after, a.common
	count := a.updatesBefore(s)
	later := graph.NotEqual(s, count, s.Const(int64(0))) // the first step sets the average
	var moved []*tfbridge.Operation
	for _, v := range a.states {
		s := p.on(v.Handle).after
		momentum := graph.Mul(s, graph.Cast(s, later, v.DType), scalar(s, v.DType, cmp.Or(c.EMAMomentum, 0.99)))
		kept := graph.Mul(s, momentum, read(s, v.average.Variable))
		added := graph.Mul(s, graph.Sub(s, scalar(s, v.DType, 1), momentum), read(s, v.Variable))
		moved = append(moved, assign(s, "AssignVariableOp", v.average.Handle, graph.Add(s, kept, added)))
	}
	if c.EMAOverwriteFrequency == 0 || s.Err() != nil {
		return moved
	}
	next := graph.FloorMod(s, graph.Add(s, count, s.Const(int64(1))), s.Const(c.EMAOverwriteFrequency))
	return []*tfbridge.Operation{a.cond(p.then(moved...), graph.Equal(s, next, s.Const(int64(0))), func(p place) *tfbridge.Operation {
		var set []*tfbridge.Operation
		for _, v := range a.states {
			set = append(set, assign(p.s, "AssignVariableOp", v.Handle, read(p.s, v.average.Variable)))
		}
		return graph.NoOp(p.s, set...)
	}, func(p place) *tfbridge.Operation { return graph.NoOp(p.s) })}
}

// exchange adds the operation that exchanges the variables and their averages. Both are
// copied: an assignment could otherwise give two variables one buffer.
func (a *applier) exchange() {
	s := a.s.SubScope("exchange")
	var done []*tfbridge.Operation
	for _, v := range a.states {
		value := s.Op1("DeepCopy", nil, read(s, v.Variable))
		average := s.Op1("DeepCopy", nil, read(s, v.average.Variable))
		if s.Err() != nil {
			return
		}
		later := s.WithControlDependencies(value.Op, average.Op)
		done = append(done, assign(later, "AssignVariableOp", v.Handle, average), assign(later, "AssignVariableOp", v.average.Handle, value))
	}
	a.result.Exchange = graph.NoOp(s, done...)
}
