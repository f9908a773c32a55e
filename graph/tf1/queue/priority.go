package queue

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// NewPriority adds a queue that returns the element of the lowest priority first. The
// first component is the priority, a scalar int64. The order of elements with the same
// priority is undefined. All components must have fully defined shapes: TensorFlow
// refuses other priority queues when they run.
//
// It wraps PriorityQueueV2, whose attributes do not include the priority.
func NewPriority(s *graph.Scope, capacity int, components []graph.Spec, o *Options) *Queue {
	p := spec{opType: "PriorityQueueV2", capacity: capacity, components: components, dense: true, ranked: true}
	if len(components) == 1 {
		p.err = millrace.Errorf(millrace.ErrModel, "there is no component but the priority; TensorFlow needs one")
	} else if len(components) > 1 {
		first := components[0]
		if first.DType != tfbridge.Int64 || first.Shape.NumDimensions() != 0 {
			p.err = millrace.Errorf(millrace.ErrModel, "%s is %v; the first component is the priority, a scalar int64", describe(0, first.Name), first)
		}
		p.attrs = map[string]any{"component_types": graph.DTypes(components[1:]), "shapes": graph.Shapes(components[1:])}
	}
	return newQueue(s, p, o)
}
