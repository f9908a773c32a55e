package chunked

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/tfbridge"
)

// groups makes columns of groups of records: sequences that are not cut yet.
type groups struct {
	source.Epochs
	layout
	records   *source.Records
	parser    *parse.Parser
	processor *process.Processor
}

// orderedRecords yields the records of an epoch in its order: the number in
// that order, and the record. Where Millrace's own operations decode records,
// these carry their locations; else the location comes third.
func (b *groups) orderedRecords(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	if !b.Engine.ReadsNatively() || b.Engine.ReadsByPlace() {
		return b.fedSequences(s, epoch).Enumerate(0)
	}
	paths, counts := b.CountedFiles()
	d := native.Records(s, s.Const(paths), s.Const(counts), b.records.LocatedOptions(tfbridge.Output{}))
	if parts := b.chunks.Partition; parts > 1 {
		d = b.part(d, parts, epoch)
	}
	return d.Enumerate(0)
}

// part takes the part of the records that is an epoch's turn: as
// [chunks.Part] has it, in the graph.
func (b *groups) part(d *dataset.Dataset, parts int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	records, _ := b.Scan.Records() // known: there are no remote files
	size, longer := s.Const(records/parts), s.Const(records%parts)
	k := graph.FloorMod(s, epoch, s.Const(parts))
	begin := graph.Add(s, graph.Mul(s, k, size), graph.Minimum(s, k, longer))
	more := graph.Cast(s, graph.Less(s, k, longer), tfbridge.Int64)
	return d.SkipOutput(begin).TakeOutput(graph.Add(s, size, more))
}

// fedSequences yields the records of an epoch that Go reads, as [source.Records] does: with
// their locations appended, or with the locations as a second component.
func (b *groups) fedSequences(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	results := []graph.Spec{source.StringVector}
	if !b.Engine.Own {
		results = append(results, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, feed.LocationBytes/8)})
	}
	return source.GoScan{
		Name: "read_sequences", Any: "any_records", Fn: feed.Sequences(b.Feed()), Begin: s.Const(int64(0)), Before: []tfbridge.Output{epoch},
		Results: results,
	}.Build(s).Unbatch()
}
