package process

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// BatchShape returns the static shape of tensor i in a batch.
func (p *Processor) BatchShape(i int) tfbridge.Shape {
	lead, shape := []int64{p.Out.Rows}, p.Out.Tensors[i].Shape
	if p.Out.Padding == nil {
		return target.ElementShape(lead, shape)
	}
	padded := slices.Clone(p.Out.Padding[i].Shape)
	for axis, n := range shape {
		if padded[axis] < 0 {
			padded[axis] = n
		}
	}
	return target.ElementShape(lead, padded)
}

// padStatic pads a batch whose shapes are known: after each axis up to the
// padded shape.
func (p *Processor) padStatic(s *graph.Scope, values map[string]tfbridge.Output) {
	for i, t := range p.Out.Tensors {
		values[t.Name] = p.PadAxes(s, values[t.Name], Axes{Tensor: i, Front: 1})
	}
}

// Axes are the axes of a tensor that are padded.
type Axes struct {
	Tensor int // index of the tensor
	From   int // the first axis that is padded
	Front  int // number of leading axes of the value that are not padded
}

// PadAxes pads axes whose sizes are known.
func (p *Processor) PadAxes(s *graph.Scope, x tfbridge.Output, a Axes) tfbridge.Output {
	t, pad := p.Out.Tensors[a.Tensor], p.Out.Padding[a.Tensor]
	after := make([][]int32, a.Front, len(t.Shape)+a.Front)
	for axis := range after {
		after[axis] = []int32{0, 0}
	}
	padded := false
	for axis, n := range t.Shape[a.From:] {
		extra := int32(0)
		if to := pad.Shape[a.From+axis]; to >= 0 {
			extra = int32(to - n)
		}
		after = append(after, []int32{0, extra})
		padded = padded || extra > 0
	}
	if !padded {
		return x
	}
	return graph.PadV2(s, x, s.Const(after), target.Constant(s, pad.Value, t.DType))
}

// stack joins the rows of tensor i to one tensor. It pads them to one length, or asserts
// that they have the same length.
func (p *Processor) stack(s *graph.Scope, i int, c column.Column) tfbridge.Output {
	if p.Out.Padding == nil {
		if !c.Ragged() {
			return c.Values
		}
		return p.stackEqual(s, i, c)
	}
	if !c.Ragged() {
		return p.PadAxes(s, c.Values, Axes{Tensor: i, Front: 1})
	}
	values := p.PadAxes(s, c.Values, Axes{Tensor: i, From: 1, Front: 1})
	return p.StackPadded(s, i, column.Column{Values: values, Splits: c.Splits})
}

// stackEqual stacks rows of one length.
func (p *Processor) stackEqual(s *graph.Scope, i int, c column.Column) tfbridge.Output {
	t := p.Out.Tensors[i]
	lengths := c.Lengths(s)
	axis := s.Const([]int64{0})
	least, most := graph.Min(s, lengths, axis), graph.Max(s, lengths, axis)
	s = p.Assert(s, graph.Equal(s, least, most), []tfbridge.Output{least, most}, func(n []int64) *millrace.Error {
		shape := func(length int64) []int64 { return append([]int64{length}, t.Shape[1:]...) }
		e := millrace.Errorf(millrace.ErrSchema,
			"examples of one batch differ in shape: %v and %v; set args.padding, or a batch size of 1", shape(n[0]), shape(n[1]))
		e.Tensor = t.Name
		return e
	})
	return column.ReshapeRows(s, c.Values, t.Shape[1:], c.Rows(s), most)
}

// StackPadded pads rows to one length. Their inner axes already have the padded size.
func (p *Processor) StackPadded(s *graph.Scope, i int, c column.Column) tfbridge.Output {
	t, pad := p.Out.Tensors[i], p.Out.Padding[i]
	shape := []int64{-1, pad.Shape[0]}
	for axis, n := range t.Shape[1:] {
		shape = append(shape, max(n, pad.Shape[1+axis]))
	}
	if limit := pad.Shape[0]; limit >= 0 {
		most := graph.Max(s, c.Lengths(s), s.Const([]int64{0}))
		s = p.Assert(s, graph.LessEqual(s, most, s.Const(limit)), []tfbridge.Output{most}, func(n []int64) *millrace.Error {
			got := append([]int64{n[0]}, t.Shape[1:]...)
			e := millrace.Errorf(millrace.ErrSchema,
				"shape %v is larger than its padding %v in dimension 0; pad to more, or to -1", got, pad.Shape)
			e.Tensor = t.Name
			return e
		})
	}
	return graph.RaggedTensorToTensor(s, c.AsRagged(), s.Const(shape), target.Constant(s, pad.Value, t.DType))
}
