package process

import (
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/loaders/processing/batches"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// BatchSteps carries out the steps on batches, and removes the draws of batch steps.
func (p *Processor) BatchSteps(d *dataset.Dataset) *dataset.Dataset {
	n := len(p.Out.Tensors)
	d = d.Map("batch_steps", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		if len(args) < n {
			return nil // the scope has failed
		}
		joined := args[:n]
		if p.Order != nil {
			joined = make([]tfbridge.Output, n)
			for i := range joined {
				joined[i] = args[p.Order[i]]
			}
		}
		return append(p.Behind(s, joined), args[n:]...)
	}, p.MapOptions())
	p.Order = nil
	return d
}

// Behind carries out the steps that see batches on the tensors of a batch, which are in the order of
// the plan, with the draws of batch steps at the end. It returns the tensors that a run delivers.
func (p *Processor) Behind(s *graph.Scope, joined []tfbridge.Output) []tfbridge.Output {
	all, ok := stage.Find[stage.BatchSteps](p.Stages)
	if !ok || s.Err() != nil || len(joined) < len(p.Out.Tensors) {
		return joined
	}
	values, draws := map[string]tfbridge.Output{}, joined[len(p.Out.Tensors)-p.Out.Draws:]
	for i, t := range p.Out.Tensors[:len(p.Out.Tensors)-p.Out.Draws] {
		values[t.Name] = joined[i]
	}
	rows := graph.Subscript(s, graph.Shape(s, joined[0]), graph.At(0))
	for k, behind := range all.Behind {
		for _, x := range behind {
			step{x, p.Target}.dense(s, values, 1)
			if x.Type == batches.SavedModel {
				values[x.Writes] = p.sameRows(s, x, values[x.Writes], rows)
			}
		}
		if k < len(all.Steps) {
			(&rowMix{s, all.Steps[k], draws[k]}).mix(values)
		}
	}
	out := make([]tfbridge.Output, len(p.Out.Results()))
	for i, t := range p.Out.Results() {
		shape := target.ElementShape([]int64{p.Out.Rows}, t.Shape)
		if all.Last == nil { // the tensors are those that were joined
			shape = p.BatchShape(i)
		}
		out[i] = graph.EnsureShape(s, values[t.Name], shape)
	}
	return out
}

// sameRows asserts that an output of a model has as many rows as the batch.
func (p *Processor) sameRows(s *graph.Scope, x stage.Step, y, rows tfbridge.Output) tfbridge.Output {
	if s.Err() != nil {
		return y
	}
	got := graph.Subscript(s, graph.Shape(s, y), graph.At(0))
	s = p.Assert(s, graph.Equal(s, got, rows), []tfbridge.Output{got, rows}, func(n []int64) *millrace.Error {
		e := millrace.Errorf(millrace.ErrModel, "the model gives %d rows for a batch of %d", n[0], n[1])
		e.Tensor, e.Key = x.Writes, x.Key
		return e
	})
	return graph.Identity(s, y)
}

// mix carries out the batch step.
func (m *rowMix) mix(values map[string]tfbridge.Output) {
	if m.Err() != nil {
		return
	}
	if m.step.Type == batches.ShuffleRows {
		m.shuffle(values)
		return
	}
	share := m.column(0)
	for i, name := range m.step.Tensors {
		if m.step.Type == batches.Cutmix && i == 0 {
			values[name], share = m.cut(values[name])
			continue
		}
		values[name] = m.blend(values[name], share)
	}
}

// rowMix carries out one batch step on batches.
type rowMix struct {
	*graph.Scope
	step  batches.Step
	draws tfbridge.Output // [rows, draws of a row]
}

// column returns one draw of each row.
func (m *rowMix) column(i int64) graph.Tensor {
	return graph.NewTensor(m.Scope, graph.Subscript(m.Scope, m.draws, graph.Whole(), graph.At(i)))
}

// next returns the row after each row, and for the last one the first.
func (m *rowMix) next(x tfbridge.Output) tfbridge.Output {
	return m.Op1("Roll", nil, x, m.Const(int32(-1)), m.Const(int32(0)))
}

// along returns a vector with a number for each row in a shape that is broadcast to x.
func (m *rowMix) along(v graph.Tensor, x tfbridge.Output) graph.Tensor {
	shape := []int32{-1}
	for range max(x.Shape().NumDimensions()-1, 0) {
		shape = append(shape, 1)
	}
	return graph.NewTensor(m.Scope, m.Op1("Reshape", nil, v.Output(), m.Const(shape)))
}

// blend returns share * x + (1 - share) * next(x).
func (m *rowMix) blend(x tfbridge.Output, share graph.Tensor) tfbridge.Output {
	if m.Err() != nil {
		return tfbridge.Output{}
	}
	part := m.along(share.Cast(x.DataType()), x)
	rest := graph.NewTensor(m.Scope, m.Op1("OnesLike", nil, part.Output())).Sub(part)
	return graph.NewTensor(m.Scope, x).Mul(part).Add(graph.NewTensor(m.Scope, m.next(x)).Mul(rest)).Output()
}

// cut replaces a rectangle of each image, [rows, height, width, channels], by the same rectangle of the next
// one. share is the part of each image that stays. The rectangle has the proportions of the image; where its
// middle is near an edge, a part of it is outside.
func (m *rowMix) cut(x tfbridge.Output) (mixed tfbridge.Output, share graph.Tensor) {
	if m.Err() != nil {
		return x, share
	}
	side := graph.NewTensor(m.Scope, m.Op1("Sqrt", nil, m.Op1("Sub", nil, m.Const(float32(1)), m.column(0).Output())))
	height, rows := m.span(x, 1, side)
	width, columns := m.span(x, 2, side)
	shaped := func(v tfbridge.Output, shape ...int32) tfbridge.Output {
		size := graph.Subscript(m.Scope, m.Op1("Shape", nil, v), graph.At(1))
		dims := []tfbridge.Output{m.Const(int32(-1)), size, m.Const(int32(1)), m.Const(int32(1))}
		if shape[0] == 2 {
			dims[1], dims[2] = dims[2], dims[1]
		}
		return m.Op1("Reshape", nil, v, graph.Pack(m.Scope, dims, 0))
	}
	inside := m.Op1("LogicalAnd", nil, shaped(rows, 1), shaped(columns, 2))
	mixed = m.Op1("SelectV2", nil, inside, m.next(x), x)
	return mixed, graph.NewTensor(m.Scope, m.Op1("Sub", nil, m.Const(float32(1)), height.Mul(width).Output()))
}

// span returns which part of an axis the rectangle of each row covers, and which positions of it.
func (m *rowMix) span(x tfbridge.Output, axis int64, side graph.Tensor) (part graph.Tensor, covered tfbridge.Output) {
	n := graph.NewTensor(m.Scope, graph.Subscript(m.Scope, m.Op1("Shape", nil, x), graph.At(axis)))
	size := n.Cast(tfbridge.Float)
	length := graph.NewTensor(m.Scope, m.Op1("Floor", nil, side.Mul(size).Output()))
	middle := graph.NewTensor(m.Scope, m.Op1("Floor", nil, m.column(axis).Mul(size).Output()))
	begin := middle.Sub(graph.NewTensor(m.Scope, m.Op1("Floor", nil, length.Mul(float32(0.5)).Output())))
	inside := func(v graph.Tensor) graph.Tensor {
		return graph.NewTensor(m.Scope, m.Op1("ClipByValue", nil, v.Output(), m.Const(float32(0)), size.Output()))
	}
	from, to := inside(begin), inside(begin.Add(length))
	at := graph.NewTensor(m.Scope, m.Op1("Range", nil, m.Const(int32(0)), n.Output(), m.Const(int32(1)))).Cast(tfbridge.Float)
	column := func(v graph.Tensor) tfbridge.Output { return graph.ExpandDims(m.Scope, v.Output(), 1) }
	covered = m.Op1("LogicalAnd", nil, m.Op1("GreaterEqual", nil, at.Output(), column(from)), m.Op1("Less", nil, at.Output(), column(to)))
	return to.Sub(from).Div(size), covered
}

// shuffle brings the rows of all tensors into the order of the draws.
func (m *rowMix) shuffle(all map[string]tfbridge.Output) {
	draws := m.Op1("Neg", nil, m.column(0).Output())
	rows := graph.Subscript(m.Scope, m.Op1("Shape", nil, draws), graph.At(0))
	order := m.Op("TopKV2", nil, draws, rows)
	if m.Err() != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name] = graph.GatherV2(m.Scope, all[name], order[1], 0)
	}
}
