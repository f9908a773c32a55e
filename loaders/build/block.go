package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// # How windows are cut
//
// The question: a window is a slice of the joined values of a file's records.
// tf.data has Dataset.window, which gives every window as a dataset of its own.
// Flattening those costs a function call and several threads' hand-overs for
// each window, and windows of a few values come by the million. Joining a whole
// file first would be fast, but a file may be larger than memory.
//
// The answer: files are read in blocks of a few records. A block is parsed by
// one call, all its windows are found by arithmetic on vectors, and what it
// leaves over goes in front of the next block. So memory holds one block and one
// window, whatever the file's size, and the calls are as many as the blocks.
//
//	records     | r0 | r1  | r2 | r3 | r4  | r5 | end
//	blocks      [   block 0    ][    block 1    ][ empty ]
//	values      aaaaabbbbbbbccccdddddeeeeeeeffff
//	windows     |--w0--|--w1--|--w2--|--w3--|-w4|
//	kept            of block 0: ^^  of block 1: ^^^
//
//  1. blocks reads records and parses as many at once as [engine.Choice.GroupSize]
//     says. After the last record comes an empty block that is marked as the end.
//  2. cutter.cut takes the blocks in order, as the function of a Scan. It joins a
//     block to what is kept, and finds where the complete windows begin and end.
//     Where sizes are drawn at random, window k has the same size whatever the
//     blocks are (see draws), so that the group size changes no batch.
//  3. At the end, what remains is a last window, or not, as "tail" says.
//  4. windowRows makes tensors of a block's windows. Windows of one size are rows
//     of one tensor. Others are ragged rows (see column).
//
// Windows are counted in units: positions along the first axis for a continuous
// sequence, records for a discrete one. A block's components are its number of
// units, whether it is the end, the joined values of every sorted feature and,
// for the feature lists of a discrete sequence, their length in every record.

// blocks reads one of [builder.files].
func (b *windowBuilder) blocks(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
	d := b.readFile(s, file)
	d = d.BatchOutput(b.group, false).Map("parse", b.parseBlock, b.mapOptions())
	return d.Concatenate(b.endBlock(s, d.Specs()))
}

// parseBlock parses serialized records to the components of a block.
func (b *windowBuilder) parseBlock(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	records := graph.Size(s, args[0])
	columns := b.storedRows(s, args[0])
	if !b.stored {
		columns = b.decodeColumns(s, columns)
	}
	units := b.unit.count(b.builder, s, records, columns)
	block := []tfbridge.Output{units, s.Const(false)}
	for i, f := range b.plan.SortedFeatures() {
		block = append(block, columns[i].join(s, f))
	}
	for _, i := range b.unit.lists(b.plan) {
		block = append(block, columns[i].lengths(s))
	}
	return block
}

// endBlock is the block after the last record of a file. It has no units.
func (b *windowBuilder) endBlock(s *graph.Scope, specs []graph.Spec) *dataset.Dataset {
	components := []tfbridge.Output{s.Const(int64(0)), s.Const(true)}
	for _, p := range specs[min(2, len(specs)):] {
		dims, err := p.Shape.ToSlice()
		s.UpdateErr("end of a file", err)
		if err != nil {
			return nil
		}
		dims[0] = 0
		if b.plan.Window.Tail == spec.TailPad {
			dims[0] = b.plan.Window.Max // to fill the last window up with; no units
		}
		zero := b.constant(s, spec.ZeroValue(p.DType), p.DType)
		components = append(components, graph.Fill(s, s.Const(dims), zero))
	}
	return dataset.FromTensors(s, components...)
}
