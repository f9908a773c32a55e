package queue

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// FromList adds a choice between several queues: the one at index, a scalar int32 or
// int64 that is computed in each run. Their components must have the same names and
// data types. A dimension in which their shapes differ is unknown in the result. An
// index without a queue fails the run with code InvalidArgument.
//
// It wraps Pack and GatherV2 on the handles.
func FromList(s *graph.Scope, index tfbridge.Output, queues []*Queue) *Queue {
	const what = "FromList"
	q := &Queue{name: what, opType: "one of several queues"}
	if len(queues) > 0 && queues[0] != nil {
		q.components = slices.Clone(queues[0].components)
	}
	if s.Err() != nil {
		return q
	}
	if len(queues) == 0 || slices.Contains(queues, nil) {
		q.fail(s, millrace.Errorf(millrace.ErrModel, "%d queues are given, must be at least one, and none nil", len(queues)))
		return q
	}
	first := queues[0]
	q.shaped = first.shaped
	q.limits = first.limits
	handles := make([]tfbridge.Output, len(queues))
	for i, other := range queues {
		handles[i] = other.handle
		if err := q.merge(other); err != nil {
			q.fail(s, err)
			return q
		}
	}
	q.handle = graph.GatherV2(s, graph.Pack(s, handles, 0), index, 0)
	if q.handle.Op != nil {
		q.name = q.handle.Op.Name()
	}
	return q
}

// merge makes the components of q compatible with other: dimensions that differ become
// unknown.
func (q *Queue) merge(other *Queue) error {
	if len(other.components) != len(q.components) {
		return millrace.Errorf(millrace.ErrModel, "%v has %d components, the first queue has %d", other, len(other.components), len(q.components))
	}
	q.shaped = q.shaped && other.shaped
	q.limits = q.limits.merge(other.limits)
	for i, c := range other.components {
		have := &q.components[i]
		if c.Name != have.Name || c.DType != have.DType {
			return millrace.Errorf(millrace.ErrModel, "%v has the %s of type %v, the first queue has the %s of type %v",
				other, describe(i, c.Name), c.DType, describe(i, have.Name), have.DType)
		}
		have.Shape = have.Shape.MostSpecificCompatible(c.Shape)
		q.shaped = q.shaped && have.Shape.NumDimensions() >= 0
	}
	return nil
}
