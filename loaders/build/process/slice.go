package process

import (
	"millrace"
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/processing/tensors"
	"millrace/tfbridge"
)

// slice builds the ragged form of processing steps of type slice.
type slice struct {
	*tensors.Slice
	tensor string // its name
	key    string // the step's location in the config
	target *target.Target
}

// rows takes the slice of every row.
func (x slice) rows(s *graph.Scope, c column.Column) column.Column {
	indices := []graph.Index{graph.Whole()}
	for _, i := range x.Indices {
		indices = append(indices, graph.Index{Single: i.Single, Begin: i.Begin, End: i.End})
	}
	if !c.Ragged() {
		return column.Column{Values: graph.Subscript(s, c.Values, indices...)}
	}
	first := x.Indices[0]
	switch {
	case first.Single:
		c = x.elementOfRows(s, c)
	case first.Begin != nil || first.End != nil:
		c = rangeOfRows(s, first, c)
	}
	indices = append(indices[:1], indices[2:]...) // the axis of the rows is done
	return column.Column{Values: graph.Subscript(s, c.Values, indices...), Splits: c.Splits}
}

// elementOfRows takes one element of every row.
func (x slice) elementOfRows(s *graph.Scope, c column.Column) column.Column {
	at := *x.Indices[0].Begin
	lengths := c.Lengths(s)
	from, needed := c.Starts(s), at+1
	if at < 0 {
		from, needed = graph.Add(s, from, lengths), -at
	}
	least := graph.Min(s, lengths, s.Const([]int64{0}))
	s = x.target.Assert(s, graph.GreaterEqual(s, least, s.Const(needed)), []tfbridge.Output{least}, func(n []int64) *millrace.Error {
		shape := append([]int64{n[0]}, x.In.Shape[1:]...)
		e := millrace.Errorf(millrace.ErrSchema, "slice %q: index %d is out of range for dimension 0 of shape %v", x.Text, at, shape)
		e.Tensor, e.Key = x.tensor, x.key
		return e
	})
	return column.Column{Values: graph.GatherV2(s, c.Values, graph.Add(s, from, s.Const(at)), 0)}
}

// rangeOfRows takes a range of every row.
func rangeOfRows(s *graph.Scope, index tensors.SliceIndex, c column.Column) column.Column {
	lengths, starts := c.Lengths(s), c.Starts(s)
	clamp := func(i int64) tfbridge.Output {
		if i < 0 {
			return graph.Maximum(s, graph.Add(s, lengths, s.Const(i)), s.Const(int64(0)))
		}
		return graph.Minimum(s, lengths, s.Const(i))
	}
	begin, end := graph.ZerosLike(s, lengths), lengths
	if index.Begin != nil {
		begin = clamp(*index.Begin)
	}
	if index.End != nil {
		end = graph.Maximum(s, clamp(*index.End), begin)
	}
	return c.Take(s, graph.Add(s, starts, begin), graph.Add(s, starts, end))
}
