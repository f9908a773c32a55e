package train

import (
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// enqueue adds the operation that enqueues one list of tensors. It removes skipped examples
// first: enqueueing no example succeeds without waiting.
func (b batching) enqueue(s *graph.Scope, q *queue.Queue, list Tensors) *tfbridge.Operation {
	values := append([]tfbridge.Output(nil), list.Dense...)
	for _, x := range list.Sparse {
		values = append(values, b.serialize(s, x))
	}
	if b.keep.Op == nil {
		if b.EnqueueMany {
			return q.EnqueueMany(s, values...)
		}
		return q.Enqueue(s, values...)
	}
	kept := b.keptRows(s, values)
	for i, x := range values {
		if !b.EnqueueMany {
			x = graph.ExpandDims(s, x, 0)
		}
		values[i] = graph.GatherV2(s, x, kept, 0)
	}
	return q.EnqueueMany(s, values...)
}

// keptRows returns the indices of the rows to keep.
func (b batching) keptRows(s *graph.Scope, values []tfbridge.Output) tfbridge.Output {
	flags, one := b.keep, s.Const([]int64{1})
	switch {
	case !b.EnqueueMany:
		flags = graph.Reshape(s, flags, one)
	case graph.SpecOf(flags).Shape.NumDimensions() == 0:
		rows := graph.Subscript(s, graph.Shape(s, values[0]), graph.Between(0, 1))
		flags = s.Op1("BroadcastTo", nil, flags, rows)
	}
	return graph.Reshape(s, graph.Where(s, flags), s.Const([]int64{-1}))
}

// serialize adds the operation that serializes a sparse tensor to strings.
func (b batching) serialize(s *graph.Scope, x graph.SparseTensor) tfbridge.Output {
	opType := "SerializeSparse"
	if b.EnqueueMany {
		opType = "SerializeManySparse"
	}
	serialized := s.Op1(opType, map[string]any{"out_type": tfbridge.String}, x.Indices, x.Values, x.Shape)
	if s.Err() == nil && !b.EnqueueMany {
		s.UpdateErr(opType, s.Graph().SetShape(serialized, serializedSparse.Shape))
	}
	return serialized
}

// deserialize adds the operation that joins the serialized sparse tensors of a batch, which
// have the type and rank of x.
func deserialize(s *graph.Scope, serialized tfbridge.Output, x graph.SparseTensor) graph.SparseTensor {
	out := s.Op("DeserializeManySparse", map[string]any{"dtype": x.Values.DataType()}, serialized)
	return graph.SparseTensor{Indices: out[0], Values: out[1], Shape: out[2]}
}
