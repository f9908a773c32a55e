package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Sequence loaders read a file in blocks: a few records parsed at once, their
// tensors joined along the first axis. Windows are then cut in units:
// positions along that axis for a continuous sequence, records for a discrete
// one. The last block of every file is empty and marked as the end.
//
// A block's components are its number of units, whether it is the end, the
// joined values of every sorted feature and, for the feature lists of a
// discrete sequence, their length in every record.

// blocks reads a file.
func (b *windowBuilder) blocks(s *graph.Scope, name, count tfbridge.Output) *dataset.Dataset {
	d := dataset.TFRecords(s, name, b.recordOptions())
	if _, ok := b.scan.Records(); ok {
		d = d.AssertCardinality(count)
	}
	d = d.BatchOutput(b.group, false).Map("parse", b.parseBlock, b.mapOptions())
	return d.Concatenate(b.endBlock(s, d.Specs()))
}

// parseBlock parses serialized records to the components of a block.
func (b *windowBuilder) parseBlock(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	records := graph.Size(s, args[0])
	columns := b.parseRecords(s, args[0])
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
