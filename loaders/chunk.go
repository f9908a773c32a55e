package loaders

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Sequence loaders read a file in chunks: a few records parsed at once, their
// tensors joined along the first axis. Windows are then cut in units:
// positions along that axis for a continuous sequence, records for a discrete
// one. The last chunk of every file is empty and marked as the end.
//
// A chunk's components are its number of units, whether it is the end, the
// joined values of every sorted feature and, for the feature lists of a
// discrete sequence, their length in every record.

// chunkRecords bounds how many records are parsed at once; groupBytes does as
// well.
const (
	chunkRecords       = 1024
	remoteChunkRecords = 8 // of unknown size
)

// chunkSize returns how many records make a chunk. The padded batch that lists
// are parsed to is bounded with it.
func (b *builder) chunkSize() int64 {
	if b.plan.valueless() {
		return 1
	}
	largest := b.scan.largest()
	if largest < 0 {
		return remoteChunkRecords
	}
	return min(max(groupBytes/max(largest, 1), 1), chunkRecords)
}

// chunks reads a file.
func (b *builder) chunks(s *graph.Scope, name, count tfbridge.Output) *dataset.Dataset {
	d := dataset.TFRecords(s, name, b.recordOptions())
	if _, ok := b.scan.Records(); ok {
		d = d.AssertCardinality(count)
	}
	d = d.BatchOutput(b.group, false).Map("parse", b.parseChunk, b.mapOptions())
	return d.Concatenate(b.endChunk(s, d.Specs()))
}

// parseChunk parses serialized records to the components of a chunk.
func (b *builder) parseChunk(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	records := graph.Size(s, args[0])
	columns := b.parseRecords(s, args[0])
	units := records
	if b.plan.Type == ContinuousSequence {
		units = b.positions(s, records, columns)
	}
	chunk := []tfbridge.Output{units, s.Const(false)}
	for i, f := range b.plan.sortedFeatures() {
		chunk = append(chunk, columns[i].join(s, f))
	}
	for _, i := range b.plan.lists() {
		chunk = append(chunk, columns[i].lengths(s))
	}
	return chunk
}

// positions counts the positions along the first axis, and asserts that it is
// the same for all features of each record.
func (b *builder) positions(s *graph.Scope, records tfbridge.Output, columns []column) tfbridge.Output {
	features := b.plan.sortedFeatures()
	length := func(i int) tfbridge.Output {
		if columns[i].ragged() {
			return columns[i].lengths(s)
		}
		return s.Const(features[i].TensorShape()[0])
	}
	first := length(0)
	for i := range features[1:] {
		same := graph.ReduceAll(s, graph.Equal(s, first, length(i+1)))
		graph.Assert(s, same, []tfbridge.Output{s.Const("features of a record differ in length")}, nil)
	}
	for i := range columns {
		if columns[i].ragged() {
			return graph.ReduceSum(s, columns[i].lengths(s))
		}
	}
	return graph.Mul(s, records, first)
}

// endChunk is the chunk after the last record of a file. It has no units.
func (b *builder) endChunk(s *graph.Scope, specs []graph.Spec) *dataset.Dataset {
	components := []tfbridge.Output{s.Const(int64(0)), s.Const(true)}
	for _, p := range specs[min(2, len(specs)):] {
		dims, err := p.Shape.ToSlice()
		s.UpdateErr("end of a file", err)
		if err != nil {
			return nil
		}
		dims[0] = 0
		if b.plan.Window.Tail == tailPad {
			dims[0] = b.plan.Window.Max // to fill the last window up with; no units
		}
		zero := b.constant(s, zeroValue(p.DType), p.DType)
		components = append(components, graph.Fill(s, s.Const(dims), zero))
	}
	return dataset.FromTensors(s, components...)
}

// lists returns the feature lists whose lengths a chunk carries, by their
// places among the sorted features.
func (p *Plan) lists() (places []int) {
	if p.Type != DiscreteSequence {
		return nil // one position is one row of every feature
	}
	for i, f := range p.sortedFeatures() {
		if f.VarLen {
			places = append(places, i)
		}
	}
	return places
}
