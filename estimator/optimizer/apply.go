package optimizer

import (
	"cmp"

	"millrace/graph"
	"millrace/tfbridge"
)

// What happens when, in one step:
//
//	gradients            computed from the variables before the step, divided by the loss scale
//	finite?              with LossScale: otherwise the scale is halved and the step ends
//	accumulate           with GradientAccumulationSteps: all steps but each n-th end with this
//	  clip, decay, update
//	average              with UseEMA
//	count                the number of steps grows by 1
//
// A condition is a graph.Cond around the rest. The variables and slots belong to the
// graph around it; its branches capture their handles.

// Update is an update step in a graph.
type Update struct {
	Op           *tfbridge.Operation // updates all variables, then adds 1 to the step
	Initialize   *tfbridge.Operation // sets all slots to their initial values
	Slots        []Slot              // slots in the order of the gradients, then those that belong to all variables
	LearningRate tfbridge.Output     // a float scalar: the rate of this step
	Norm         tfbridge.Output     // a float scalar: the global norm of the gradients, before they are clipped

	Exchange *tfbridge.Operation // exchanges each variable and its average; nil without UseEMA
	Plateau  *Plateau            // lowers the learning rate; nil unless the schedule is a *ReduceLROnPlateau
}

// ApplyOptions are the options of Apply. Nil and the zero value mean the defaults.
type ApplyOptions struct {
	// ClipNorm scales all gradients together, so that their global norm is at most
	// this. It is Common.GlobalClipNorm in another place. 0 means no clipping.
	ClipNorm float64
	// After are operations to finish before any variable changes: all those that read
	// the variables for the loss and for its derivatives. Each update waits for them
	// and for its own gradient. Empty: each update waits for all gradients instead.
	After []*tfbridge.Operation
	// Scaling is the scale of the loss that the gradients were computed from, from
	// NewScaling; nil: the loss was not scaled.
	Scaling *Scaling
}

// Apply adds operations that update variables by their gradients. step is the
// handle of a scalar int64 variable that counts the updates from 0.
//
// With ApplyOptions.After a variable changes as soon as its gradient is known, as in Keras,
// so that few gradients are in memory at once. Only clipping by the global norm, gradient
// accumulation and a dynamic scale of the loss wait for all gradients. A step that fails, or
// is cancelled, may therefore leave some variables changed and others not.
//
// The slots are variables of the session, under names that begin with the scope's prefix. A
// failure is the scope's, see [graph.Scope.Err]; then Apply returns nil.
func Apply(s *graph.Scope, o Optimizer, step tfbridge.Output, gradients []Gradient, opts *ApplyOptions) *Update {
	if opts == nil {
		opts = &ApplyOptions{}
	}
	if err := check(o, gradients, opts); err != nil {
		s.UpdateErr("optimizer", err)
	}
	if s.Err() != nil {
		return nil
	}
	a := &applier{o: o, common: o.Settings(), step: step, result: &Update{}}
	a.common.GlobalClipNorm = cmp.Or(a.common.GlobalClipNorm, opts.ClipNorm)
	a.place = place{s: s.SubScope(o.Name()), after: s.SubScope(o.Name())}
	a.prepare(gradients, opts)
	a.result.Op = a.whole(opts.Scaling)
	a.result.Initialize = graph.NoOp(a.s, a.initial...)
	if s.Err() != nil {
		return nil
	}
	return a.result
}

// prepare adds what all parts of the step share, and the slots.
func (a *applier) prepare(gradients []Gradient, opts *ApplyOptions) {
	count := a.s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, a.step)
	a.number = graph.Cast(a.s, graph.Add(a.s, a.updatesBefore(a.s), a.s.Const(int64(1))), tfbridge.Float)
	if p, ok := a.common.LearningRate.(*ReduceLROnPlateau); ok {
		a.rate = a.plateau(p)
	} else {
		a.rate = a.common.LearningRate.Rate(a.s.SubScope("learning_rate"), count)
	}
	a.result.LearningRate = a.rate
	a.result.Norm = a.globalNorm(gradients)
	a.barrier(gradients, opts.After)
	for _, g := range gradients {
		a.states = append(a.states, a.state(g))
	}
	if a.common.UseEMA {
		a.exchange()
	}
	if opts.Scaling != nil {
		a.addSlots(opts.Scaling.slots()...)
	}
}

// barrier makes changes wait for operations; without any, for the gradients. A gradient is
// computed from values that were read before, so the reads suffice: an update leaves a value
// that was read as it is, and writes to a copy while something still uses it.
func (a *applier) barrier(gradients []Gradient, after []*tfbridge.Operation) {
	all := append([]*tfbridge.Operation{a.rate.Op}, after...)
	if len(after) > 0 {
		gradients = nil
	}
	for _, g := range gradients {
		all = append(all, g.Value.Op)
		if g.Indices.Op != nil {
			all = append(all, g.Indices.Op)
		}
	}
	a.after = a.s.WithControlDependencies(graph.NoOp(a.s, all...))
}

// state makes the slots of a variable: the optimizer's, the average and the
// accumulator.
func (a *applier) state(g Gradient) *State {
	v := &State{Variable: g.Variable, gradient: g.Value, indices: g.Indices, applier: a, place: a.place}
	v.rate = graph.Cast(a.s, a.rate, g.Variable.DType)
	for _, kind := range a.o.Slots(g.Variable) {
		v.slots = append(v.slots, a.slot(g.Variable, kind))
	}
	if a.common.UseEMA {
		average := a.slot(g.Variable, SlotKind{Name: "average"})
		v.average = &average
	}
	if a.common.GradientAccumulationSteps > 1 {
		accumulator := a.slot(g.Variable, SlotKind{Name: "gradient_accumulator"})
		v.accumulator = &accumulator
	}
	return v
}

// whole adds the step. With a dynamic scale of the loss, the step is made only if all
// gradients are finite.
func (a *applier) whole(scaling *Scaling) *tfbridge.Operation {
	if scaling == nil || scaling.dynamic == nil {
		return a.counted(a.place)
	}
	finite := scaling.finite(a.s, a.states)
	return a.cond(a.place, finite, func(p place) *tfbridge.Operation {
		return scaling.grow(p, a.counted(p))
	}, scaling.halve)
}

// counted adds the step and counts it.
func (a *applier) counted(p place) *tfbridge.Operation {
	updates := []*tfbridge.Operation{a.accumulated(p)}
	if a.common.UseEMA {
		updates = a.averaged(p.then(updates...))
	}
	one := p.s.WithControlDependencies(updates...)
	return one.AddOperation(tfbridge.OpSpec{Type: "AssignAddVariableOp", Name: "update", Input: []tfbridge.Input{a.step, one.Const(int64(1))}})
}
