package queue

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Enqueue adds an operation that enqueues one element: a value for each component,
// in their order. It waits while the queue is full.
//
// It wraps QueueEnqueueV2.
func (q *Queue) Enqueue(s *graph.Scope, values ...tfbridge.Output) *tfbridge.Operation {
	return q.enqueue(s, "QueueEnqueueV2", values, false)
}

// EnqueueMany adds an operation that enqueues several elements, possibly none: the
// values are those of [Queue.Enqueue], stacked along a new first dimension. It enqueues
// as many as there is room for, and waits for room for the others. Another run may
// enqueue in between.
//
// It wraps QueueEnqueueManyV2.
func (q *Queue) EnqueueMany(s *graph.Scope, values ...tfbridge.Output) *tfbridge.Operation {
	return q.enqueue(s, "QueueEnqueueManyV2", values, true)
}

// enqueue checks the values and adds an operation that enqueues them.
func (q *Queue) enqueue(s *graph.Scope, opType string, values []tfbridge.Output, rows bool) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	if err := checkValues(q.components, values, rows); err != nil {
		q.fail(s, err)
		return nil
	}
	return q.guardValues(s, values, rows).AddOperation(tfbridge.OpSpec{
		Type: opType, Attrs: map[string]any{"Tcomponents": graph.DTypes(q.components)},
		Input: []tfbridge.Input{q.handle, tfbridge.OutputList(values)},
	})
}

// Dequeue adds an operation that dequeues one element. It returns the components
// in their order, and waits while the queue is empty.
//
// It wraps QueueDequeueV2.
func (q *Queue) Dequeue(s *graph.Scope) []tfbridge.Output {
	return q.dequeue(s, "QueueDequeueV2", q.components)
}

// DequeueMany adds an operation that dequeues n elements, n being a scalar int32, and
// stacks them. It waits until there are n elements. From a closed queue with fewer
// elements it takes none and fails. The components must have shapes.
//
// It wraps QueueDequeueManyV2.
func (q *Queue) DequeueMany(s *graph.Scope, n tfbridge.Output) []tfbridge.Output {
	return q.dequeueRows(s, "QueueDequeueManyV2", n, true)
}

// DequeueUpTo is like DequeueMany, but takes the remaining elements, at least one, if a
// closed queue has fewer than n.
//
// It wraps QueueDequeueUpToV2.
func (q *Queue) DequeueUpTo(s *graph.Scope, n tfbridge.Output) []tfbridge.Output {
	return q.dequeueRows(s, "QueueDequeueUpToV2", n, false)
}

// dequeueRows adds an operation that dequeues stacked elements: exactly n, or fewer.
func (q *Queue) dequeueRows(s *graph.Scope, opType string, n tfbridge.Output, exactly bool) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(q.components))
	}
	count, err := rowCount(n)
	switch {
	case !q.shaped:
		err = millrace.Errorf(millrace.ErrModel, "%s needs components that have shapes", opType)
	case err == nil:
		err = q.limits.check(count)
	}
	if err != nil {
		q.fail(s, err)
		return unbuilt.Outputs(len(q.components))
	}
	n = q.limits.guard(s, q.String(), n, count)
	if !exactly {
		count = -1
	}
	rows := make([]graph.Spec, len(q.components))
	for i, c := range q.components {
		c.Shape = stack(count, c.Shape)
		rows[i] = c
	}
	return q.dequeue(s, opType, rows, n)
}

// dequeue adds an operation that returns values of these specs. TensorFlow does
// not infer their shapes.
func (q *Queue) dequeue(s *graph.Scope, opType string, specs []graph.Spec, n ...tfbridge.Output) []tfbridge.Output {
	inputs := []tfbridge.Input{q.handle}
	for _, o := range n {
		inputs = append(inputs, o)
	}
	values := s.Op(opType, map[string]any{"component_types": graph.DTypes(specs)}, inputs...)
	if s.Err() != nil {
		return unbuilt.Outputs(len(specs))
	}
	for i, v := range values {
		q.fail(s, s.Graph().SetShape(v, specs[i].Shape))
	}
	return values
}

// rowCount returns the value of n if it is a constant, and -1 otherwise.
func rowCount(n tfbridge.Output) (int64, error) {
	if got := graph.SpecOf(n); got.DType != tfbridge.Int32 || !got.Shape.IsCompatibleWith(tfbridge.ScalarShape()) {
		return 0, millrace.Errorf(millrace.ErrModel, "the number of elements is %v, must be a scalar int32", got)
	}
	if n.Op.Type() != "Const" {
		return -1, nil
	}
	value, err := n.Op.Attr("value")
	if err != nil {
		return 0, err
	}
	t, ok := value.(*tfbridge.Tensor)
	if !ok {
		return -1, nil
	}
	defer t.Close()
	count, ok := t.Value().(int32)
	if !ok || count < 0 {
		return 0, millrace.Errorf(millrace.ErrModel, "the number of elements is %v, must not be negative", t.Value())
	}
	return int64(count), nil
}
