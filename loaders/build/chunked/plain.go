package chunked

import (
	"context"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/column"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/chunks"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
)

// # How TensorFlow's operations cut and batch rows
//
// Without Millrace's own operations, Go decides and TensorFlow copies. A call of Go for
// each group is given the lengths of its sequences and returns the rows (cutRows).
// Gathers make columns of rows from columns of sequences. Rows come in blocks, which
// batches may cross: a scan joins each block to the rows left over from the previous
// block, asks Go where batches end (batchEnds), and keeps the rows after the last end.
// After the last block an empty one ends the last batch.
//
//	groups    [ s0 s1 s2 ]     [ s3 s4 ]        end
//	blocks    [ r0 r1 r2 r3 ]  [ r4 r5 r6 ]     [ ]
//	batches   [ r0 r1 r2 ]     [ r3 r4 ]        [ r5 r6 ]
//	kept      r3               r5 r6
//
// A block has a flag for the end, the lengths of the rows by which batches are
// full, where rows start, and two tensors for each column with frames (values,
// joined, and the length of each row) or one (values).

// pass makes the batches of an epoch.
func (b *plainRows) pass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	d := b.sequences(s, epoch).Map("cut", b.cutGroup, b.MapOptions())
	if k := b.chunks; k.ShuffleChunks > 1 {
		d = d.Map("single", b.split, target.Inline()).Unbatch()
		d = b.Shuffle(d, k.ShuffleChunks, source.StreamChunks, epoch)
		d = d.Batch(rowsAtOnce, false).Map("rows", b.join, target.Inline())
	}
	s = d.Scope()
	d = d.Concatenate(b.endRows(s, d.Specs()))
	d = d.Scan("budget", b.noRows(s, d.Specs()), b.fillBatches)
	return d.FlatMap("batches", b.rowBatches)
}

// rowsAtOnce is how many shuffled rows make a block.
const rowsAtOnce = 64

// cutGroup makes the rows of a group of sequences.
func (b *plainRows) cutGroup(s *graph.Scope, group []tfbridge.Output) []tfbridge.Output {
	columns := b.groupOf(group)
	var lengths []tfbridge.Output
	for i, c := range b.columns {
		if c.sequence != nil {
			lengths = append(lengths, columns[i].lengths(s))
		}
	}
	vector, matrix := tfbridge.MakeShape(-1), tfbridge.MakeShape(-1, int64(len(lengths)))
	call := graph.GoFunc{Name: "cut_rows", Fn: b.cutRows, Pure: true, Out: []graph.Spec{
		{DType: tfbridge.Int64, Shape: vector}, {DType: tfbridge.Int64, Shape: matrix}, {DType: tfbridge.Int64, Shape: matrix},
	}}
	cut := graph.GoFunction(s, call, graph.Pack(s, lengths, 1))
	if s.Err() != nil {
		return nil
	}
	record, begins, ends := cut[0], cut[1], cut[2]
	first := func(x tfbridge.Output, i int) tfbridge.Output {
		return graph.Subscript(s, x, graph.Whole(), graph.At(int64(i)))
	}
	block := []tfbridge.Output{s.Const(false), b.paddedLengths(s, begins, ends), first(begins, 0)}
	for i, next := 0, 0; i < len(b.columns); i++ {
		c := &b.columns[i]
		switch {
		case c.sequence != nil:
			row := b.gatherFrames(s, c, columns[i], record, first(begins, next), first(ends, next))
			block = append(block, row.Values, row.Lengths(s))
			next++
		case c.ragged:
			row := columns[i].rowsAt(s, record)
			block = append(block, row.Values, row.Lengths(s))
		default:
			block = append(block, graph.GatherV2(s, columns[i].Values, record, 0))
		}
	}
	return block
}

// groupOf returns the columns of a group. All columns of sequences are ragged.
func (b *plainRows) groupOf(group []tfbridge.Output) []groupColumn {
	columns := make([]groupColumn, 0, len(b.columns))
	for _, c := range b.columns {
		x := groupColumn{Column: column.Column{Values: group[0]}, spec: &c}
		if group = group[1:]; c.ragged {
			x.Splits, group = group[0], group[1:]
		}
		columns = append(columns, x)
	}
	return columns
}

// cutRows answers a call for the rows of sequences. The argument has the
// lengths of the sequences of each record; the results are each row's record,
// and where it begins and ends in each sequence, without context.
func (b *plainRows) cutRows(_ context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	lengths, err := tfbridge.View[int64](args[0])
	if err != nil {
		return nil, err
	}
	k := b.chunks
	n := len(k.Sequences)
	record, begins, ends := []int64{}, []int64{}, []int64{}
	for i := 0; i < len(lengths); i += n {
		all := lengths[i : i+n]
		if err := check.Aligned(b.Spec, all); err != nil {
			return nil, err
		}
		for row := range k.Cut.Rows(all[0]) {
			record = append(record, int64(i/n))
			for q, length := range all {
				begin, end := k.Cut.Row(row, length)
				if err := check.RowFits(b.Spec, q, end-begin); err != nil {
					return nil, err
				}
				begins, ends = append(begins, begin), append(ends, end)
			}
		}
	}
	rows := int64(len(record))
	return feed.NewInt64s([][]int64{{rows}, {rows, int64(n)}, {rows, int64(n)}}, record, begins, ends)
}

// paddedLengths returns how many frames rows have in each sequence with their
// context.
func (b *plainRows) paddedLengths(s *graph.Scope, begins, ends tfbridge.Output) tfbridge.Output {
	var around []int64
	for _, q := range b.chunks.Sequences {
		around = append(around, q.Left+q.Right)
	}
	return graph.Add(s, graph.Sub(s, ends, begins), s.Const(around))
}

// fillBatches joins a block to the remaining rows, and finds the full batches.
func (b *plainRows) fillBatches(s *graph.Scope, kept, block []tfbridge.Output) (next, batches []tfbridge.Output) {
	end := block[0]
	all := []tfbridge.Output{end}
	for i, x := range block[1:] {
		all = append(all, graph.ConcatV2(s, []tfbridge.Output{kept[i], x}, 0))
	}
	call := graph.GoFunc{Name: "batch_ends", Fn: b.batchEnds, Pure: true, Out: []graph.Spec{
		{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)},
	}}
	found := graph.GoFunction(s, call, all[1], end)
	if s.Err() != nil {
		return nil, nil
	}
	bounds := graph.ConcatV2(s, []tfbridge.Output{s.Const([]int64{0}), found[0]}, 0)
	last := graph.Subscript(s, bounds, graph.At(-1))
	withOffsets := b.rowOffsets(s, all)
	for i, x := range all[1:] {
		from := last
		if values := b.valuesAt(i + 1); values >= 0 {
			from = graph.GatherV2(s, withOffsets[i+2], last, 0)
		}
		next = append(next, graph.RowsFrom(s, x, from))
	}
	return next, append(withOffsets, bounds)
}

// batchEnds answers a call for where batches of rows end, given the lengths of
// the rows and whether no row follows.
func (b *plainRows) batchEnds(_ context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	lengths, err := tfbridge.View[int64](args[0])
	if err != nil {
		return nil, err
	}
	last, err := tfbridge.View[bool](args[1])
	if err != nil {
		return nil, err
	}
	budget := b.budget()
	ends := budget.Ends(lengths)
	rows := int64(len(lengths) / len(budget.Fixed))
	if last[0] && rows > 0 {
		ends = append(ends, rows)
	}
	return feed.NewInt64s([][]int64{{int64(len(ends))}}, ends)
}

// budget returns the rule that decides when a batch is full.
func (b *plainRows) budget() chunks.Budget {
	budget := chunks.Budget{Frames: b.frames, MaxSeqs: b.chunks.MaxSeqs}
	for _, c := range b.columns {
		if c.sequence != nil {
			budget.Fixed = append(budget.Fixed, b.Out.Padding[c.tensor].Shape[0])
		}
	}
	return budget
}

// rowBatches makes the batches whose bounds were found among the rows that
// there are.
func (b *plainRows) rowBatches(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
	rows, bounds := args[:len(args)-1], args[len(args)-1]
	begins, ends := graph.Subscript(s, bounds, graph.Until(-1)), graph.Subscript(s, bounds, graph.From(1))
	is := graph.Equal(s, ends, graph.Subscript(s, bounds, graph.At(-1)))
	last := graph.LogicalAnd(s, is, rows[0])
	return dataset.FromSlices(s, begins, ends, last).Map("batch", func(s *graph.Scope, batch []tfbridge.Output) []tfbridge.Output {
		return b.rowBatch(s, rows, batch)
	}, target.Inline())
}

// rowBatch makes one batch: the plan's tensors of the rows from begin up to but
// without end.
func (b *plainRows) rowBatch(s *graph.Scope, rows, batch []tfbridge.Output) []tfbridge.Output {
	begin, end, last := batch[0], batch[1], batch[2]
	start := graph.Rows(s, rows[2], begin, end)
	columns := make(map[string]column.Column, len(b.Out.Tensors))
	rest := rows[rowParts:]
	for _, c := range b.columns {
		if !c.framed() {
			columns[c.name] = column.Column{Values: graph.Rows(s, rest[0], begin, end)}
			rest = rest[1:]
			continue
		}
		values, offsets := rest[0], rest[1]
		rest = rest[2:]
		splits := graph.Rows(s, offsets, begin, graph.Add(s, end, s.Const(int64(1))))
		from := graph.Subscript(s, splits, graph.At(0))
		columns[c.name] = column.Column{
			Values: graph.Rows(s, values, from, graph.Subscript(s, splits, graph.At(-1))),
			Splits: graph.Sub(s, splits, from),
		}
	}
	b.processor.Ragged(s, columns, b.ofRows)
	b.rowOutputs(s, columns, start, last)
	out := make([]tfbridge.Output, len(b.Out.Tensors))
	for i, t := range b.Out.Tensors {
		x := columns[t.Name]
		if x.Ragged() {
			x.Values = b.processor.StackPadded(s, i, x)
		}
		out[i] = graph.EnsureShape(s, x.Values, b.processor.BatchShape(i))
	}
	return out
}

// rowOutputs adds the automatic outputs that are known for rows.
func (b *plainRows) rowOutputs(s *graph.Scope, columns map[string]column.Column, start, last tfbridge.Output) {
	for _, o := range b.chunks.Outputs {
		switch o.Kind {
		case spec.ChunkStart:
			columns[o.To] = column.Column{Values: graph.Cast(s, start, tfbridge.Int32)}
		case spec.RowSize:
			columns[o.To] = column.Column{Values: graph.Cast(s, columns[o.Of].Lengths(s), tfbridge.Int32)}
		case spec.EpochEnd:
			n := graph.Size(s, start)
			one := s.Const(int64(1))
			at := graph.Range(s, one, graph.Add(s, n, one), one)
			columns[o.To] = column.Column{Values: graph.LogicalAnd(s, graph.Equal(s, at, n), last)}
		}
	}
}
