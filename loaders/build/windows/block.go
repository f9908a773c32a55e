package windows

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// # How windows are cut
//
// The question: a window is a slice of the joined values of a file's records.
// tf.data has Dataset.window, which gives every window as a separate dataset.
// Flattening those costs a function call and several threads' hand-overs for
// each window, and windows of a few values come by the million. Joining a whole
// file first would be fast, but a file may be larger than memory.
//
// The answer: files are read in blocks of a few records. A block is parsed by one call,
// all its windows are found by arithmetic on vectors, and its remainder is put in front
// of the next block. So memory holds one block and one window, whatever the file's
// size, and the calls are as many as the blocks.
//
//	records     | r0 | r1  | r2 | r3 | r4  | r5 | end
//	blocks      [   block 0    ][    block 1    ][ empty ]
//	values      aaaaabbbbbbbccccdddddeeeeeeeffff
//	windows     |--w0--|--w1--|--w2--|--w3--|-w4|
//	kept            of block 0: ^^  of block 1: ^^^
//
//  1. read reads records and parses as many at once as [engine.Choice.GroupSize]
//     says. After the last record comes an empty block that is marked as the end.
//  2. cutter.cut takes the blocks in order, as the function of a Scan. It joins a
//     block to what is kept, and finds where the complete windows begin and end.
//     Where sizes are drawn at random, window k has the same size whatever the
//     blocks are (see draws), so that the group size changes no batch.
//  3. At the end, what remains is a last window, or not, as "tail" says.
//  4. rows makes tensors of a block's windows. Windows of one size are rows
//     of one tensor. Others are ragged rows (see column).
//
// Windows are counted in units: positions along the first axis for a continuous
// sequence, records for a discrete one. A block's components are its number of
// units, whether it is the end, the joined values of every sorted feature and,
// for the feature lists of a discrete sequence, their length in every record.

// blocks reads the blocks of files, and makes tensors of their windows.
type blocks struct {
	*target.Target
	layout
	window    stage.Window
	records   *source.Records
	parser    *parse.Parser
	processor *process.Processor

	// apart says that the windows of a group do not follow each other in their file.
	apart bool

	// stored says that windows which are read by their positions hold the stored values
	// of records, as windows of the native operation do.
	stored bool
}

// read reads one of [source.Epochs.ListFiles].
func (b *blocks) read(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
	d := b.records.ReadFile(s, file)
	d = d.BatchOutput(b.Group, false).Map("parse", b.parse, b.MapOptions())
	return d.Concatenate(b.end(s, d.Specs()))
}

// parse parses serialized records to the components of a block.
func (b *blocks) parse(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	records := graph.Size(s, args[0])
	columns := b.parser.Stored(s, args[0])
	if !b.stored {
		columns = b.parser.DecodeColumns(s, columns)
	}
	units := b.unit.count(s, b.features, records, columns)
	block := []tfbridge.Output{units, s.Const(false)}
	for i, f := range b.Parse.Features {
		block = append(block, columns[i].Join(s, f))
	}
	for _, i := range b.unit.lists(b.features) {
		block = append(block, columns[i].Lengths(s))
	}
	return block
}

// end is the block after the last record of a file. It has no units.
func (b *blocks) end(s *graph.Scope, specs []graph.Spec) *dataset.Dataset {
	components := []tfbridge.Output{s.Const(int64(0)), s.Const(true)}
	for _, p := range specs[min(2, len(specs)):] {
		dims, err := p.Shape.ToSlice()
		s.UpdateErr("end of a file", err)
		if err != nil {
			return nil
		}
		dims[0] = 0
		if b.window.Tail == spec.TailPad {
			dims[0] = b.window.Max // to fill the last window up with; no units
		}
		zero := target.Constant(s, spec.ZeroValue(p.DType), p.DType)
		components = append(components, graph.Fill(s, s.Const(dims), zero))
	}
	return dataset.FromTensors(s, components...)
}
