package queue

import (
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// MapStagingArea holds elements by keys, int64 numbers. It waits, and is repaired,
// like a [StagingArea].
type MapStagingArea struct {
	staging
	keys tfbridge.Output // a table with 1 for each key in the map
}

// NewMapStagingArea adds a staging area of elements with keys. The components are
// those of [NewFIFO], but their shapes need not be fully defined.
//
// It wraps MapStage, or OrderedMapStage, and the operations that go with it, and makes
// them interruptible, as [NewStagingArea] does.
func NewMapStagingArea(s *graph.Scope, components []graph.Spec, o *StagingOptions) *MapStagingArea {
	a := &MapStagingArea{staging: newStaging(s, "MapStagingArea", components, o)}
	if s.Err() == nil {
		a.keys = newTable(s, a.name+"/keys")
	}
	return a
}

// op adds an operation on the map.
func (a *MapStagingArea) op(s *graph.Scope, opType string, in ...tfbridge.Input) *tfbridge.Operation {
	if a.options.Ordered {
		opType = "Ordered" + opType
	}
	return a.staging.op(s, opType, in...)
}

// indices adds a constant that names all components.
func (a *MapStagingArea) indices(s *graph.Scope) tfbridge.Output {
	all := make([]int32, len(a.components))
	for i := range all {
		all[i] = int32(i)
	}
	return s.Const(all)
}

// has adds the condition that a key is in the map.
func (a *MapStagingArea) has(s *graph.Scope, key tfbridge.Output) tfbridge.Output {
	found := onHost(s).Op1("LookupTableFindV2", nil, a.keys, key, s.Const(int64(0)))
	return graph.Equal(onHost(s), found, s.Const(int64(1)))
}

// forget adds an operation that removes keys, a vector, from the table.
func (a *MapStagingArea) forget(s *graph.Scope, keys tfbridge.Output) *tfbridge.Operation {
	return onHost(s).AddOperation(tfbridge.OpSpec{Type: "LookupTableRemoveV2", Input: []tfbridge.Input{a.keys, keys}})
}

// Put adds an operation that adds an element under a key, a scalar int64: a value for
// each component in their order. It waits while the key is in the map or the map is
// full. An element with more bytes than MemoryLimit fails with code InvalidArgument.
//
// It wraps MapStage or OrderedMapStage.
func (a *MapStagingArea) Put(s *graph.Scope, key tfbridge.Output, values ...tfbridge.Output) *tfbridge.Operation {
	key, ok := a.scalar(s, "the key", key, tfbridge.Int64)
	if !ok {
		return nil
	}
	need, ready := a.prepare(s, values)
	if s.Err() != nil {
		return nil
	}
	alone := a.enter(ready.WithControlDependencies(key.Op), func(s *graph.Scope) tfbridge.Output {
		return graph.LogicalAnd(s, a.room(s, a.Size(s), need), graph.LogicalNot(s, a.has(s, key)))
	})
	stage := a.op(alone, "MapStage", key, a.indices(alone), tfbridge.OutputList(values))
	note := onHost(alone).AddOperation(tfbridge.OpSpec{Type: "LookupTableInsertV2", Input: []tfbridge.Input{a.keys, key, s.Const(int64(1))}})
	return a.monitor.leave(alone, stage, note, a.bytes.add(alone, need))
}

// Get adds an operation that waits for the element of a key, a scalar int64, and
// takes it.
//
// It wraps MapUnstage or OrderedMapUnstage.
func (a *MapStagingArea) Get(s *graph.Scope, key tfbridge.Output) []tfbridge.Output {
	return a.find(s, key, "MapUnstage", true)
}

// Peek adds an operation that waits for the element of a key, a scalar int64, and
// returns it. The area keeps it.
//
// It wraps MapPeek or OrderedMapPeek.
func (a *MapStagingArea) Peek(s *graph.Scope, key tfbridge.Output) []tfbridge.Output {
	return a.find(s, key, "MapPeek", false)
}

// find adds an operation that waits for a key.
func (a *MapStagingArea) find(s *graph.Scope, key tfbridge.Output, opType string, take bool) []tfbridge.Output {
	key, ok := a.scalar(s, "the key", key, tfbridge.Int64)
	if !ok {
		return unbuilt.Outputs(len(a.components))
	}
	alone := a.enter(s.WithControlDependencies(key.Op), func(s *graph.Scope) tfbridge.Output { return a.has(s, key) })
	values := a.shaped(s, graph.Outputs(a.op(alone, opType, key, a.indices(alone))))
	if !take || s.Err() != nil {
		return a.finish(alone, values)
	}
	gone := a.forget(alone.WithControlDependencies(values[0].Op), graph.Reshape(onHost(alone), key, s.Const([]int32{1})))
	return a.finish(alone, values, gone, a.bytes.subtract(alone, values))
}

// PopItem adds an operation that waits for an element and takes one, of the smallest
// key if the area is Ordered. It returns the key, a scalar int64, and the element.
//
// It wraps MapUnstageNoKey or OrderedMapUnstageNoKey.
func (a *MapStagingArea) PopItem(s *graph.Scope) (key tfbridge.Output, values []tfbridge.Output) {
	alone := a.enter(s, func(s *graph.Scope) tfbridge.Output { return graph.Greater(s, a.Size(s), s.Const(int32(0))) })
	all := graph.Outputs(a.op(alone, "MapUnstageNoKey", a.indices(alone)))
	if s.Err() != nil {
		return key, unbuilt.Outputs(len(a.components))
	}
	s.UpdateErr(a.String(), s.Graph().SetShape(all[0], tfbridge.ScalarShape()))
	a.shaped(s, all[1:])
	gone := a.forget(alone, graph.Reshape(onHost(alone), all[0], s.Const([]int32{1})))
	all = a.finish(alone, all, gone, a.bytes.subtract(alone, all[1:]))
	return all[0], all[1:]
}

// Size adds an operation that counts the elements, a scalar int32. It never waits.
//
// It wraps MapSize or OrderedMapSize.
func (a *MapStagingArea) Size(s *graph.Scope) tfbridge.Output {
	op := a.op(s, "MapSize")
	if op == nil {
		return tfbridge.Output{}
	}
	return op.Output(0)
}

// Clear adds an operation that removes all elements, and repairs the area after a
// run that used it was interrupted. No other run may use the area at the same time,
// except to wait.
//
// It wraps MapClear or OrderedMapClear.
func (a *MapStagingArea) Clear(s *graph.Scope) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	all := onHost(s).Op("LookupTableExportV2", map[string]any{"Tkeys": tfbridge.Int64, "Tvalues": tfbridge.Int64}, a.keys)
	return a.monitor.reset(s, a.op(s, "MapClear"), a.forget(s, all[0]), a.bytes.clear(s))
}
