package chunked

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// plainRows cuts and batches rows with TensorFlow's operations.
type plainRows struct{ *groups }

// rowParts is how many components come before the columns in a block: end,
// lengths and starts.
const rowParts = 3

// groupColumn is a column of a group of records.
type groupColumn struct {
	column.Column
	spec *chunkColumn
}

// lengths returns the frames of every record.
func (g groupColumn) lengths(s *graph.Scope) tfbridge.Output {
	if g.Ragged() {
		return g.Column.Lengths(s)
	}
	return graph.Fill(s, graph.ExpandDims(s, g.Rows(s), 0), s.Const(g.spec.frames))
}

// joined returns the frames of all records, and where each record begins.
func (g groupColumn) joined(s *graph.Scope) (values, starts tfbridge.Output) {
	if g.Ragged() {
		return g.Values, g.Starts(s)
	}
	n := g.Rows(s)
	shape := graph.Shape(s, g.Values)
	all := graph.ExpandDims(s, graph.Mul(s, n, s.Const(g.spec.frames)), 0)
	values = graph.Reshape(s, g.Values, graph.ConcatV2(s, []tfbridge.Output{all, graph.Subscript(s, shape, graph.From(2))}, 0))
	return values, graph.Mul(s, graph.Range(s, s.Const(int64(0)), n, s.Const(int64(1))), s.Const(g.spec.frames))
}

// rowsAt returns the whole rows of the given records.
func (g groupColumn) rowsAt(s *graph.Scope, record tfbridge.Output) column.Column {
	from := graph.GatherV2(s, g.Starts(s), record, 0)
	return g.Take(s, from, graph.Add(s, from, graph.GatherV2(s, g.Column.Lengths(s), record, 0)))
}

// gatherFrames cuts rows of a sequence with their context. Frames beyond the ends of a
// sequence are gathered from a frame of padding that is added after all values.
func (b *plainRows) gatherFrames(s *graph.Scope, c *chunkColumn, g groupColumn, record, begins, ends tfbridge.Output) column.Column {
	values, starts := g.joined(s)
	shape := graph.Shape(s, values)
	fill := target.Constant(s, b.Out.Padding[c.tensor].Value, c.dtype)
	frame := graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{1}), graph.Subscript(s, shape, graph.From(1))}, 0)
	padded := graph.ConcatV2(s, []tfbridge.Output{values, graph.Fill(s, frame, fill)}, 0)
	left, right := c.context()
	at := graph.RaggedRange(s, graph.Sub(s, begins, s.Const(left)), graph.Add(s, ends, s.Const(right)))
	if s.Err() != nil {
		return column.Column{}
	}
	row := rowsOf(s, at)
	of := func(x tfbridge.Output) tfbridge.Output {
		return graph.GatherV2(s, graph.GatherV2(s, x, record, 0), row, 0)
	}
	inside := graph.LogicalAnd(s, graph.GreaterEqual(s, at.Values, s.Const(int64(0))), graph.Less(s, at.Values, of(g.lengths(s))))
	place := graph.Select(s, inside, graph.Add(s, at.Values, of(starts)), graph.Subscript(s, shape, graph.At(0)))
	return column.Column{Values: graph.GatherV2(s, padded, place, 0), Splits: at.RowSplits}
}

// rowsOf returns for each value of ragged rows the row to which it belongs.
func rowsOf(s *graph.Scope, x graph.RaggedTensor) tfbridge.Output {
	ends := graph.ExpandDims(s, graph.Subscript(s, x.RowSplits, graph.From(1)), 0)
	n := graph.Size(s, x.Values)
	all := graph.ExpandDims(s, graph.Range(s, s.Const(int64(0)), n, s.Const(int64(1))), 0)
	row := s.Op1("UpperBound", map[string]any{"out_type": tfbridge.Int64}, ends, all)
	return graph.Reshape(s, row, s.Const([]int64{-1}))
}

// valuesAt returns the column whose joined values a component of a block is, -1 if
// there is none.
func (b *plainRows) valuesAt(component int) int {
	at := rowParts
	for i, c := range b.columns {
		if !c.framed() {
			at++
			continue
		}
		if component == at {
			return i
		}
		at += 2
	}
	return -1
}

// rowOffsets replaces the lengths of rows by their beginnings and the end of the last
// row.
func (b *plainRows) rowOffsets(s *graph.Scope, block []tfbridge.Output) []tfbridge.Output {
	out := slices.Clone(block)
	for i := range block {
		if b.valuesAt(i) >= 0 {
			out[i+1] = graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{0}), graph.Cumsum(s, block[i+1], 0)}, 0)
		}
	}
	return out
}

// split makes a vector of variants of the rows of each column with
// frames, so that rows can be elements.
func (b *plainRows) split(s *graph.Scope, block []tfbridge.Output) []tfbridge.Output {
	out, withOffsets := block[1:rowParts:rowParts], b.rowOffsets(s, block)
	for i := rowParts; i < len(block); i++ {
		if b.valuesAt(i) < 0 {
			out = append(out, block[i])
			continue
		}
		out = append(out, graph.RaggedTensorToVariant(s, graph.RaggedTensor{Values: block[i], RowSplits: withOffsets[i+1]}))
		i++
	}
	return out
}

// join makes a block of the elements that split makes.
func (b *plainRows) join(s *graph.Scope, rows []tfbridge.Output) []tfbridge.Output {
	block := append([]tfbridge.Output{s.Const(false)}, rows[:rowParts-1]...)
	for i, x := range rows[rowParts-1:] {
		c := &b.columns[i]
		if !c.framed() {
			block = append(block, x)
			continue
		}
		dims := append([]int64{-1}, b.innerShape(c)...)
		joined := graph.RaggedTensorFromVariant(s, x, graph.Spec{DType: c.dtype, Shape: tfbridge.MakeShape(dims...)})
		row := column.Column{Values: joined.Values, Splits: joined.RowSplits}
		block = append(block, row.Values, row.Lengths(s))
	}
	return block
}

// innerShape returns the shape of a frame of a column, padded.
func (b *plainRows) innerShape(c *chunkColumn) []int64 {
	return spec.PaddedShape(b.Out.Tensors[c.tensor].Shape, b.Out.Padding[c.tensor].Shape)[1:]
}

// endRows is the block after the last row of an epoch.
func (b *plainRows) endRows(s *graph.Scope, specs []graph.Spec) *dataset.Dataset {
	return dataset.FromTensors(s, append([]tfbridge.Output{s.Const(true)}, b.emptyRows(s, specs)...)...)
}

// noRows is the remainder before the first block, given the specs of a block.
func (b *plainRows) noRows(s *graph.Scope, specs []graph.Spec) []tfbridge.Output {
	var state []tfbridge.Output
	for i, empty := range b.emptyRows(s, specs) {
		state = append(state, graph.PlaceholderWithDefault(s, empty, specs[1+i].Shape))
	}
	return state
}

// emptyRows returns the components of a block without rows, except for the flag.
func (b *plainRows) emptyRows(s *graph.Scope, specs []graph.Spec) []tfbridge.Output {
	var out []tfbridge.Output
	for _, p := range specs[min(1, len(specs)):] {
		dims, err := p.Shape.ToSlice()
		if s.UpdateErr("rows", err); err != nil {
			return nil
		}
		dims[0] = 0
		zero := target.Constant(s, spec.ZeroValue(p.DType), p.DType)
		out = append(out, graph.Fill(s, s.Const(dims), zero))
	}
	return out
}
