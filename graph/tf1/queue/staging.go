package queue

import (
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// StagingOptions are the options of [NewStagingArea] and [NewMapStagingArea]. Nil
// and the zero value mean the defaults.
type StagingOptions struct {
	SharedName  string // areas of one session with the same SharedName are one; "": none is shared
	Container   string // the resource container that holds the area; "": the session's default
	Capacity    int    // maximum number of elements; 0: any number
	MemoryLimit int64  // maximum number of bytes of all elements; 0: any number
	Ordered     bool   // for a map: PopItem returns the element with the smallest key instead of any
}

// staging is the common part of both kinds of area.
type staging struct {
	name       string // shared name
	kind       string // kind of area in messages
	components []graph.Spec
	options    StagingOptions
	monitor    *monitor
	bytes      *counter // nil without a MemoryLimit
}

// StagingArea holds elements from one run to the next, in their order, on the device of
// the scope that its methods get; every call must get the same device. Unlike a queue
// it has Peek, Clear and a limit in bytes.
//
// Put waits while the area is full, Get and Peek while the element is missing. A
// context ends the wait, as for a queue. After a run that uses the area was
// interrupted, run Clear before the area is used again.
type StagingArea struct{ staging }

// NewStagingArea adds a staging area. The components are those of [NewFIFO], but
// their shapes need not be fully defined.
//
// It wraps Stage and the operations that go with it, and makes them interruptible: in
// TensorFlow they wait in their kernels, which cannot be interrupted.
func NewStagingArea(s *graph.Scope, components []graph.Spec, o *StagingOptions) *StagingArea {
	return &StagingArea{newStaging(s, "StagingArea", components, o)}
}

// newStaging checks the arguments and adds the monitor of an area.
func newStaging(s *graph.Scope, kind string, components []graph.Spec, o *StagingOptions) staging {
	if o == nil {
		o = &StagingOptions{}
	}
	sub := s.SubScope(kind)
	a := staging{kind: kind, components: components, options: *o, name: o.SharedName}
	if a.name == "" {
		a.name = sub.Prefix() + "area"
	}
	if s.Err() != nil {
		return a
	}
	err := checkComponents(components, false, false)
	switch {
	case err != nil:
	case o.Capacity < 0:
		err = millrace.Errorf(millrace.ErrModel, "Capacity is %d, must not be negative", o.Capacity)
	case o.MemoryLimit < 0:
		err = millrace.Errorf(millrace.ErrModel, "MemoryLimit is %d, must not be negative", o.MemoryLimit)
	}
	if err != nil {
		a.fail(s, err)
		return a
	}
	a.monitor = newMonitor(sub, a.name)
	if o.MemoryLimit > 0 {
		a.bytes = newCounter(sub, a.name+"/bytes")
	}
	return a
}

// Name returns the shared name of the area.
func (a *staging) Name() string { return a.name }

// String names the area in messages.
func (a *staging) String() string { return fmt.Sprintf("%s %q", a.kind, a.name) }

// fail makes err, about this area, the scope's failure.
func (a *staging) fail(s *graph.Scope, err error) { s.UpdateErr(a.String(), err) }

// FromMap is [Queue.FromMap] for the components of the area.
func (a *staging) FromMap(s *graph.Scope, values map[string]tfbridge.Output) []tfbridge.Output {
	return ordered(s, a.components, values, a.fail)
}

// ToMap is [Queue.ToMap] for the components of the area.
func (a *staging) ToMap(values []tfbridge.Output) map[string]tfbridge.Output {
	return toMap(a.components, values)
}

// op adds an operation on the area. Operations with the same name and device use the
// same area. The monitor enforces the capacity and the memory limit.
func (a *staging) op(s *graph.Scope, opType string, in ...tfbridge.Input) *tfbridge.Operation {
	attrs := map[string]any{"shared_name": a.name, "container": a.options.Container}
	if opType != "Stage" {
		attrs["dtypes"] = graph.DTypes(a.components)
	}
	return s.AddOperation(tfbridge.OpSpec{Type: opType, Attrs: attrs, Input: in})
}

// room adds the condition that there is room for an element of need bytes.
func (a *staging) room(s *graph.Scope, size, need tfbridge.Output) tfbridge.Output {
	ok := s.Const(true)
	if a.options.Capacity > 0 {
		ok = graph.Less(s, size, s.Const(int32(a.options.Capacity)))
	}
	if a.bytes != nil {
		total := graph.Add(s, a.bytes.value(s), need)
		ok = graph.LogicalAnd(s, ok, graph.LessEqual(s, total, s.Const(a.options.MemoryLimit)))
	}
	return ok
}

// prepare checks the values of a put, and returns their number of bytes and a scope
// that runs after they are computed. It fails for an element that is larger than the
// area's limit.
func (a *staging) prepare(s *graph.Scope, values []tfbridge.Output) (need tfbridge.Output, ready *graph.Scope) {
	if s.Err() != nil {
		return need, s
	}
	if err := checkValues(a.components, values, false); err != nil {
		a.fail(s, err)
		return need, s
	}
	for _, v := range values {
		s = s.WithControlDependencies(v.Op)
	}
	if a.bytes == nil {
		return need, s
	}
	host := onHost(s)
	need = bytesOf(host, values)
	fits := graph.LessEqual(host, need, s.Const(a.options.MemoryLimit))
	message := s.Const(a.String() + ": an element has more bytes than MemoryLimit: ")
	return need, s.WithControlDependencies(graph.Assert(host, fits, []tfbridge.Output{message, need}, nil))
}

// finish leaves the monitor after an operation that returned values, and after done.
// It returns the values.
func (a *staging) finish(s *graph.Scope, values []tfbridge.Output, done ...*tfbridge.Operation) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(values))
	}
	end := s.WithControlDependencies(a.monitor.leave(s.WithControlDependencies(values[0].Op), done...))
	out := make([]tfbridge.Output, len(values))
	for i, v := range values {
		out[i] = graph.Identity(end, v)
	}
	return out
}

// shaped sets the shapes of an element's components, which TensorFlow does not
// infer.
func (a *staging) shaped(s *graph.Scope, values []tfbridge.Output) []tfbridge.Output {
	for i, c := range a.components {
		if s.Err() == nil {
			s.UpdateErr(a.String(), s.Graph().SetShape(values[i], c.Shape))
		}
	}
	return values[:len(a.components)]
}

// Put adds an operation that adds an element, a value for each component in their
// order. An element with more bytes than MemoryLimit fails with code
// InvalidArgument.
//
// It wraps Stage.
func (a *StagingArea) Put(s *graph.Scope, values ...tfbridge.Output) *tfbridge.Operation {
	need, ready := a.prepare(s, values)
	alone := a.enter(ready, func(s *graph.Scope) tfbridge.Output { return a.room(s, a.Size(s), need) })
	if s.Err() != nil {
		return nil
	}
	stage := a.op(alone, "Stage", tfbridge.OutputList(values))
	return a.monitor.leave(alone, stage, a.bytes.add(alone, need))
}

// Get adds an operation that waits for an element and takes the first one.
//
// It wraps Unstage.
func (a *StagingArea) Get(s *graph.Scope) []tfbridge.Output {
	alone := a.enter(s, func(s *graph.Scope) tfbridge.Output { return graph.Greater(s, a.Size(s), s.Const(int32(0))) })
	values := a.shaped(s, graph.Outputs(a.op(alone, "Unstage")))
	return a.finish(alone, values, a.bytes.subtract(alone, values))
}

// Peek adds an operation that waits until there is an element at index, a scalar
// int32 that counts from 0, and returns it. The area keeps it.
//
// It wraps StagePeek.
func (a *StagingArea) Peek(s *graph.Scope, index tfbridge.Output) []tfbridge.Output {
	index, ok := a.scalar(s, "the index", index, tfbridge.Int32)
	if !ok {
		return unbuilt.Outputs(len(a.components))
	}
	notNegative := graph.GreaterEqual(s, index, s.Const(int32(0)))
	message := s.Const(a.String() + ": the index is negative: ")
	s = s.WithControlDependencies(graph.Assert(s, notNegative, []tfbridge.Output{message, index}, nil))
	alone := a.enter(s, func(s *graph.Scope) tfbridge.Output { return graph.Greater(s, a.Size(s), index) })
	return a.finish(alone, a.shaped(s, graph.Outputs(a.op(alone, "StagePeek", index))))
}

// Size adds an operation that counts the elements, a scalar int32. It never waits.
//
// It wraps StageSize.
func (a *StagingArea) Size(s *graph.Scope) tfbridge.Output {
	op := a.op(s, "StageSize")
	if op == nil {
		return tfbridge.Output{}
	}
	return op.Output(0)
}

// Clear adds an operation that removes all elements, and repairs the area after a
// run that used it was interrupted. No other run may use the area at the same time,
// except to wait.
//
// It wraps StageClear.
func (a *StagingArea) Clear(s *graph.Scope) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	return a.monitor.reset(s, a.op(s, "StageClear"), a.bytes.clear(s))
}

// enter is [monitor.enter] for an area whose construction may have failed.
func (a *staging) enter(s *graph.Scope, cond func(s *graph.Scope) tfbridge.Output) *graph.Scope {
	if s.Err() != nil {
		return s
	}
	return a.monitor.enter(s, cond)
}

// scalar checks a scalar argument.
func (a *staging) scalar(s *graph.Scope, what string, x tfbridge.Output, dtype tfbridge.DataType) (tfbridge.Output, bool) {
	if s.Err() != nil {
		return x, false
	}
	if got := graph.SpecOf(x); got.DType != dtype || !got.Shape.IsCompatibleWith(tfbridge.ScalarShape()) {
		a.fail(s, millrace.Errorf(millrace.ErrModel, "%s is %v, must be a scalar %v", what, got, dtype))
		return x, false
	}
	return scalar(s, x), true
}
