package tfbridge

// #include "capi.h"
import "C"

import (
	"fmt"
	"math"
)

// guardPrefix is the prefix of the names of guards' operations.
const guardPrefix = "millrace_guard"

// guardBuilder adds a guard's operations to a graph. The first failure sticks.
type guardBuilder struct {
	g    *Graph
	name string
	err  error
}

// op adds an operation.
func (b *guardBuilder) op(typ, name string, attrs map[string]any, in ...Input) *Operation {
	if b.err != nil {
		return nil
	}
	op, err := b.g.AddOperation(OpSpec{Type: typ, Name: b.name + "/" + name, Attrs: attrs, Input: in})
	b.err = err
	return op
}

// output adds an operation and returns its first output.
func (b *guardBuilder) output(typ, name string, attrs map[string]any, in ...Input) Output {
	if op := b.op(typ, name, attrs, in...); op != nil {
		return op.Output(0)
	}
	return Output{}
}

// constant adds a constant.
func (b *guardBuilder) constant(name string, value any) Output {
	if b.err != nil {
		return Output{}
	}
	t, err := NewTensor(value)
	if err != nil {
		b.err = err
		return Output{}
	}
	defer t.Close()
	return b.output("Const", name, map[string]any{"dtype": t.DataType(), "value": t})
}

// guardName returns a new prefix for the names of a guard's operations. The
// graph may have been imported with guards of another session in it.
func (g *Graph) guardName() string {
	for {
		name := fmt.Sprintf("%s_%d", guardPrefix, g.guards.Add(1))
		if g.Operation(name+"/false") == nil && g.Operation(name+"/done") == nil && g.Operation(name+"/computed") == nil {
			return name
		}
	}
}

// newGuard adds a guard to the session's graph.
func (s *Session) newGuard() (*guard, error) {
	b := &guardBuilder{g: s.g, name: s.g.guardName()}
	g := &guard{goOn: b.constant("false", float32(0)), latest: b.constant("step", int64(math.MaxInt64)), always: b.constant("true", true)}
	g.accumulator = b.output("ResourceConditionalAccumulator", "accumulator", map[string]any{"dtype": Float, "shape": ScalarShape(), "shared_name": b.name})
	floats := map[string]any{"dtype": Float}
	take := b.output("ResourceAccumulatorTakeGradient", "take", floats, g.accumulator, b.constant("one", int32(1)))
	proceed := b.output("LessEqual", "proceed", nil, take, g.goOn)
	g.assert = b.op("Assert", "assert", nil, proceed, OutputList{b.constant("message", "the run was interrupted")})
	abort := b.op("ResourceAccumulatorApplyGradient", "abort", floats, g.accumulator, g.latest, b.constant("stop", float32(1)))
	size := b.output("ResourceAccumulatorNumAccumulated", "size", nil, g.accumulator)
	if b.err != nil {
		return nil, b.err
	}
	inline := &RunOptions{Inline: true}
	var errs [3]error
	g.abort, errs[0] = s.PrepareRun(nil, nil, []*Operation{abort}, inline)
	g.size, errs[1] = s.PrepareRun(nil, []Output{size}, nil, inline)
	g.drain, errs[2] = s.PrepareRun(nil, nil, []*Operation{take.Op}, inline)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}
