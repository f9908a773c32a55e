package build

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/feed"
	"millrace/tfbridge"
)

// orderedRecords yields the records of an epoch in its order: the number in
// that order, and the record. Where Millrace's own operations decode records,
// these carry their places; else the place comes third.
func (b *chunkBuilder) orderedRecords(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	if !b.plan.Engine().ReadsNatively() || b.plan.Engine().ReadsByPlace() {
		return b.fedSequences(s, epoch).Enumerate(0)
	}
	paths, counts := b.countedFiles()
	d := native.Records(s, s.Const(paths), s.Const(counts), b.placedOptions(tfbridge.Output{}))
	if parts := b.plan.Chunks.Partition; parts > 1 {
		d = b.part(d, parts, epoch)
	}
	return d.Enumerate(0)
}

// part takes the part of the records that is an epoch's turn: as
// [chunks.Part] has it, in the graph.
func (b *chunkBuilder) part(d *dataset.Dataset, parts int64, epoch tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	records, _ := b.scan.Records() // known: there are no remote files
	size, longer := s.Const(records/parts), s.Const(records%parts)
	k := graph.FloorMod(s, epoch, s.Const(parts))
	begin := graph.Add(s, graph.Mul(s, k, size), graph.Minimum(s, k, longer))
	more := graph.Cast(s, graph.Less(s, k, longer), tfbridge.Int64)
	return d.SkipOutput(begin).TakeOutput(graph.Add(s, size, more))
}

// fedSequences yields the records of an epoch that Go reads, as
// [builder.fedRecords] does: with their places behind them, or with the places
// as a second component.
func (b *chunkBuilder) fedSequences(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar,
		{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)},
		{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, feed.PlaceBytes/8)},
	}
	if b.plan.Engine().Own {
		results = results[:3]
	}
	initial := []tfbridge.Output{s.Const(int64(0)), s.Const(int64(0))}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_sequences", initial, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		call := graph.GoFunc{Name: "read_sequences", Out: results, Fn: b.source().Sequences(), Pure: true}
		out := graph.GoFunction(s, call, epoch, state[0], state[1])
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	d = d.TakeWhile("any_records", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
	return d.Unbatch()
}
