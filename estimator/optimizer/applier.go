package optimizer

import (
	"strings"

	"millrace/graph"
	"millrace/tfbridge"
)

// place is where operations are added.
type place struct {
	s     *graph.Scope // scope of operations that only compute
	after *graph.Scope // scope of operations that change variables, or read what changes
}

// applier adds the operations of one update step.
type applier struct {
	place
	o       Optimizer
	common  Common
	step    tfbridge.Output // handle of the number of steps before this one
	number  tfbridge.Output // a float scalar: the number of this update, from 1
	rate    tfbridge.Output // a float scalar
	states  []*State
	initial []*tfbridge.Operation
	result  *Update
}

// updatesBefore returns the number of updates before this step, an int64 scalar. With
// accumulated gradients it grows once in several steps, as Keras's iterations do;
// schedules follow the steps.
func (a *applier) updatesBefore(s *graph.Scope) tfbridge.Output {
	count := s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, a.step)
	if n := a.common.GradientAccumulationSteps; n > 1 {
		return graph.FloorDiv(s, count, s.Const(n))
	}
	return count
}

// slot makes a slot of a variable.
func (a *applier) slot(v Variable, kind SlotKind) Slot {
	name := slotName(v.Name, kind.Name)
	slot := Slot{Variable: v, Kind: kind.Name, Of: v.Name, Initial: kind.Initial}
	if kind.Shape != nil {
		slot.Shape = *kind.Shape
	}
	slot.Name = a.o.Name() + "/" + name
	sub := a.s.SubScope(name)
	shared := strings.TrimSuffix(sub.Prefix(), "/")
	slot.Handle = sub.WithDevice(deviceOf(v.Handle)).Op1("VarHandleOp", map[string]any{"dtype": slot.DType, "shape": slot.Shape, "shared_name": shared})
	a.addSlots(slot)
	return slot
}

// addSlots adds slots to the result.
func (a *applier) addSlots(slots ...Slot) {
	for _, slot := range slots {
		a.result.Slots = append(a.result.Slots, slot)
		s := a.on(slot.Handle).s
		value := scalar(s, slot.DType, slot.Initial)
		if dims := slot.Shape.Dims(); len(dims) > 0 {
			value = graph.Fill(s, s.Const(dims), value)
		}
		a.initial = append(a.initial, assign(s, "AssignVariableOp", slot.Handle, value))
	}
}

// updates clips the gradients of variables and updates them.
func (a *applier) updates(p place, states []*State, gradients []tfbridge.Output) *tfbridge.Operation {
	var all []*tfbridge.Operation
	for i, g := range a.clip(p.s, gradients) {
		v := *states[i]
		v.place, v.gradient, v.assigned = p.on(v.Handle), g, nil
		if a.decays(v.Name) {
			taken := graph.Mul(v.after, graph.Mul(v.after, v.Value(), v.Number(a.common.WeightDecay)), v.rate)
			v.place = v.then(assign(v.after, "AssignSubVariableOp", v.Handle, taken))
		}
		all = append(all, a.o.Update(&v))
	}
	if p.s.Err() != nil {
		return nil
	}
	return graph.NoOp(p.s, all...)
}

// cond adds two operations and a condition that chooses one.
func (a *applier) cond(p place, pred tfbridge.Output, then, otherwise func(p place) *tfbridge.Operation) *tfbridge.Operation {
	branch := func(add func(p place) *tfbridge.Operation) graph.Branch {
		return func(s *graph.Scope) []tfbridge.Output {
			op := add(place{s: s, after: s})
			if s.Err() != nil {
				return nil
			}
			return []tfbridge.Output{s.WithControlDependencies(op).Const(true)}
		}
	}
	done := graph.Cond(p.after, pred, branch(then), branch(otherwise))
	if p.s.Err() != nil {
		return nil
	}
	return graph.NoOp(p.s, done[0].Op)
}

// on returns a place on the device of a variable: what updates a variable of a parameter
// server runs there, and only the gradient travels.
func (p place) on(handle tfbridge.Output) place {
	device := deviceOf(handle)
	if device == "" {
		return p
	}
	return place{s: p.s.WithDevice(device), after: p.after.WithDevice(device)}
}

// deviceOf returns the device that a variable was placed on, "" if TensorFlow chooses.
func deviceOf(handle tfbridge.Output) string {
	if handle.Op == nil {
		return ""
	}
	return handle.Op.Device()
}

// then returns a place whose changes wait for operations too.
func (p place) then(ops ...*tfbridge.Operation) place {
	if p.s.Err() != nil {
		return p
	}
	return place{s: p.s, after: p.after.WithControlDependencies(ops...)}
}
