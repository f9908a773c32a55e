package chunked

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// nativeRows cuts and batches rows with the native operations.
type nativeRows struct{ *groups }

// pass makes the batches of an epoch. Where rows are shuffled the operations make an element
// of every row first, and batches of those after the shuffle.
func (b *nativeRows) pass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	k := b.chunks
	o := b.chunkOptions(s)
	if k.ShuffleChunks <= 1 {
		b.batchRows(o, -1)
		return b.cutRecords(s, epoch, o)
	}
	single := *o
	start := b.singleRows(&single)
	d := b.Shuffle(b.cutRecords(s, epoch, &single), k.ShuffleChunks, source.StreamChunks, epoch)
	o.Size, o.Step, o.Aligned, o.DropTail = 0, 0, false, false
	for i := range o.Columns {
		c := &o.Columns[i]
		c.Ragged, c.Left, c.Right = b.columns[i].framed(), 0, 0
	}
	o.Columns = append(o.Columns, native.ChunkColumn{Name: string(spec.ChunkStart), Fixed: -1, Fill: s.Const(int32(0))})
	b.batchRows(o, start)
	return native.Chunks(d, o)
}

// cutRecords cuts the records of an epoch. If no other stage comes between, one
// operation reads, decodes and cuts them.
func (b *nativeRows) cutRecords(s *graph.Scope, epoch tfbridge.Output, o *native.ChunkOptions) *dataset.Dataset {
	if !b.Engine.CutsFiles() {
		return native.Chunks(b.sequences(s, epoch), o)
	}
	features := b.Parse.Features
	f := &native.ChunkFiles{
		Examples: !b.Parse.SequenceExamples, Features: b.parser.NativeFeatures(),
		BufferBytes: b.Reading.BufferBytes, Threads: b.Parse.Parallel,
	}
	for _, c := range b.columns {
		of := b.Parse.FeatureOf(c.name)
		if b.chunks.Output(c.name) != nil {
			of = b.chunks.TagFeature
		}
		f.Of = append(f.Of, slices.Index(features, of))
	}
	paths, counts := b.CountedFiles()
	return native.ChunkRecords(s, s.Const(paths), s.Const(counts), f, o)
}

// chunkOptions returns the rules and the columns of the plan.
func (b *nativeRows) chunkOptions(s *graph.Scope) *native.ChunkOptions {
	k := b.chunks
	o := &native.ChunkOptions{
		Size: k.Cut.Size, Step: k.Cut.Step, DropTail: k.Cut.DropTail, Aligned: k.Aligned,
		Frames: b.frames, MaxRows: k.MaxSeqs, PlacedFiles: b.Located(s).PlacedFiles,
	}
	for _, c := range b.columns {
		pad := b.Out.Padding[c.tensor]
		column := native.ChunkColumn{
			Name: c.name, Ragged: c.ragged, Sequence: c.sequence != nil,
			Fixed: -1, Fill: target.Constant(s, pad.Value, c.dtype),
		}
		column.Left, column.Right = c.context()
		if c.framed() {
			column.Fixed = pad.Shape[0]
		}
		o.Columns = append(o.Columns, column)
	}
	return o
}

// singleRows requests every row separately, in the form of groups, with the start of
// the row as one more column. It returns that column.
func (b *nativeRows) singleRows(o *native.ChunkOptions) (start int) {
	o.Frames, o.MaxRows = 1, 1
	one := func(part native.ChunkPart, column int, d tfbridge.DataType, shape ...int64) {
		o.Components = append(o.Components, native.ChunkComponent{
			Part: part, Column: column, Spec: graph.Spec{DType: d, Shape: tfbridge.MakeShape(shape...)},
		})
	}
	for i, c := range b.columns {
		inner := spec.PaddedShape(b.Out.Tensors[c.tensor].Shape, b.Out.Padding[c.tensor].Shape)
		if !c.framed() {
			one(native.Row, i, c.dtype, append([]int64{-1}, inner...)...)
			continue
		}
		one(native.Joined, i, c.dtype, append([]int64{-1}, inner[1:]...)...)
		one(native.RowSplits, i, tfbridge.Int64, 2)
	}
	one(native.RowStart, 0, tfbridge.Int32, -1)
	one(native.RowPlace, 0, tfbridge.Int64, -1, 3)
	return len(b.columns)
}

// batchRows requests the plan's tensors. If start is a column, it has the starts of
// rows.
func (b *nativeRows) batchRows(o *native.ChunkOptions, start int) {
	for i, t := range b.Out.Tensors {
		c := native.ChunkComponent{Part: native.Row, Spec: graph.Spec{DType: t.DType, Shape: b.processor.BatchShape(i)}}
		of := t.Name
		if m, ok := b.measures[t.Name]; ok && b.measuresRows(m) {
			of = m.Tensor
			c.Part = map[spec.MeasureKind]native.ChunkPart{
				spec.Lengths: native.RowLength, spec.Mask: native.RowMask, spec.ElementCount: native.RowElements,
			}[m.Kind]
		}
		if a := b.chunks.Output(t.Name); a != nil {
			switch a.Kind {
			case spec.ChunkStart:
				c.Part, of = native.RowStart, ""
			case spec.EpochEnd:
				c.Part, of = native.RowEnd, ""
			case spec.RowSize:
				c.Part, of = native.RowSize, a.Of
			}
		}
		switch {
		case c.Part == native.RowStart && start >= 0:
			c.Part, c.Column = native.Row, start
		case of != "":
			c.Column, c.Each = b.elementsOf(of)
		}
		o.Components = append(o.Components, c)
	}
}

// elementsOf returns the column of a tensor, and the number of values of a frame. For
// the rows of a mask or of lengths that are made with the batch, it returns the column
// that they measure.
func (b *nativeRows) elementsOf(name string) (index int, each int64) {
	each = 1
	if m, ok := b.measures[name]; ok && b.measuresRows(m) {
		name = m.Tensor
	} else if shape := b.Out.Tensor(name).Shape; len(shape) > 0 {
		each = spec.NumElements(shape[1:])
	}
	return slices.IndexFunc(b.columns, func(c chunkColumn) bool { return c.name == name }), each
}
