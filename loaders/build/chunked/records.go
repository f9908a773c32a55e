package chunked

import (
	"context"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/process"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/chunks"
	"millrace/loaders/engine"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// groups makes columns of groups of records, whose sequences are not cut yet.
type groups struct {
	source.Epochs
	layout
	records   *source.Records
	parser    *parse.Parser
	processor *process.Processor
}

// orderedRecords yields the records of an epoch in its order: the number in that order,
// and the record. Where Millrace's own operations decode records, the records carry
// their locations; otherwise the location is the third component.
func (b *groups) orderedRecords(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	switch {
	case engine.ReadsSequences(b.Engine):
		return native.EpochSequences(s, b.order(), epoch).Enumerate(0)
	case !b.Engine.ReadsNatively() || b.Engine.ReadsByPlace():
		return b.fedSequences(s, epoch).Enumerate(0)
	}
	paths, counts := b.CountedFiles()
	d := native.Records(s, s.Const(paths), s.Const(counts), b.records.LocatedOptions(tfbridge.Output{}))
	if parts := b.chunks.Partition; parts > 1 {
		d = b.part(d, parts, epoch)
	}
	return d.Enumerate(0)
}

// order returns the order of the sequences for the operation that reads them.
func (b *groups) order() *native.SequenceOrder {
	s, config, size := b.Scope, b.Spec, order.Sequences(b.Spec, b.Scan)
	paths, counts := b.CountedFiles()
	o := &native.SequenceOrder{
		Filenames: s.Const(paths), Counts: s.Const(target.Int64Vector(counts)), Lengths: b.records.Lengths(s), Frames: b.sequenceFrames(s),
		Ordering: string(config.Chunks.Order.Kind), Bins: config.Chunks.Order.BinsOf(size), Seed: b.Seed,
		First: order.FirstSequence(config), Size: size, Partition: config.Chunks.Partition,
		Threads: max(b.Reading.Parallel, b.Parse.Parallel), Skip: b.Skips(),
	}
	if config.Chunks.Order.IsDefault() {
		o.Ordering = string(chunks.Default)
	}
	if config.Records != nil {
		o.Shard, o.Shards = config.Records.Shard, config.Records.Shards
	}
	if config.Mixture != nil {
		o.First = 0
		for _, part := range order.New(config, b.Scan).Spec().Parts {
			o.Parts = append(o.Parts, native.SequencePart{OrderPart: native.OrderPart(part), Bins: config.Chunks.Order.BinsOf(part.Records)})
		}
	}
	return o
}

// sequenceFrames returns how long all sequences are, a vector without elements where the order does
// not ask. As the lengths of records, a call of Go makes it in this process.
func (b *groups) sequenceFrames(s *graph.Scope) tfbridge.Output {
	frames := b.Scan.Lengths
	if frames == nil {
		return s.Zeros(tfbridge.Int32, 0)
	}
	if b.Fixed != nil {
		return s.Const(frames)
	}
	made := func(context.Context, []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		t, err := tfbridge.NewTensorFromSlice([]int64{int64(len(frames))}, frames)
		return []*tfbridge.Tensor{t}, err
	}
	out := []graph.Spec{{DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)}}
	return graph.GoFunction(s, graph.GoFunc{Name: "sequence_frames", Out: out, Fn: made})[0]
}

// part takes the part of the records that belongs to an epoch: [chunks.Part] in the
// graph.
func (b *groups) part(d *dataset.Dataset, parts int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	records, _ := b.Scan.Records() // known: there are no remote files
	size, longer := s.Const(records/parts), s.Const(records%parts)
	k := graph.FloorMod(s, epoch, s.Const(parts))
	begin := graph.Add(s, graph.Mul(s, k, size), graph.Minimum(s, k, longer))
	more := graph.Cast(s, graph.Less(s, k, longer), tfbridge.Int64)
	if len(b.Skips()) > 0 { // the part counts the skipped records, too
		end := graph.Add(s, begin, graph.Add(s, size, more))
		return d.Filter("in_part", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			number, _ := b.records.NumberOf(s, args[0])
			return graph.LogicalAnd(s, graph.GreaterEqual(s, number, begin), graph.Less(s, number, end))
		})
	}
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
