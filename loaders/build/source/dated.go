package source

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/tfbridge"
)

// dated is [Records.Stream] with the epoch of each record as a second component, for steps that
// draw random numbers.
func (r *Records) dated() *dataset.Dataset {
	dated := func(s *graph.Scope, d *dataset.Dataset, epoch tfbridge.Output) *dataset.Dataset {
		return d.Map("epoch_of", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return append(args[:1:1], graph.Identity(s, epoch))
		}, nil)
	}
	pass := func(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
		if r.Shuffling == nil {
			return dated(s, r.Joined(s), epoch)
		}
		return dated(s, r.shuffledPass(s, epoch), epoch)
	}
	switch {
	case r.ByPosition:
		return r.byPosition().Enumerate(0).Map("epoch_of", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{args[1], r.EpochOf(s, graph.Add(s, args[0], r.Begin()))}
		}, nil)
	case r.Shuffling != nil && r.Engine.Seeks():
		return r.From(pass, func(s *graph.Scope, epoch, n tfbridge.Output) *dataset.Dataset {
			return dated(s, r.resumedRecords(s, epoch, n), epoch)
		})
	case r.Shuffling != nil && r.Engine.Replays():
		return r.replayedRecords(pass)
	}
	return r.All(pass)
}

// EpochOf returns the epoch of a position in the order of the plan.
func (r *Records) EpochOf(s *graph.Scope, position tfbridge.Output) tfbridge.Output {
	return graph.FloorDiv(s, position, r.Size(s))
}

// uncounted is what the number of a file is multiplied with where nobody has counted the records
// of the files before it.
const uncounted = 1 << 32

// NumberOf returns the number of a record that carries its location, over all files in their
// order, and the record without its location where TensorFlow's operations parse it.
func (r *Records) NumberOf(s *graph.Scope, record tfbridge.Output) (number, data tfbridge.Output) {
	return r.numberOf(s, record)
}

// NumbersOf is [Records.NumberOf] for a vector of records.
func (r *Records) NumbersOf(s *graph.Scope, records tfbridge.Output) (numbers, data tfbridge.Output) {
	return r.numberOf(s, records, graph.Whole())
}

// numberOf is [Records.NumberOf] for records with lead axes.
func (r *Records) numberOf(s *graph.Scope, record tfbridge.Output, lead ...graph.Index) (number, data tfbridge.Output) {
	n := int64(feed.LocationBytes)
	tail := graph.Substr(s, record, s.Const(-n), s.Const(n))
	place := graph.DecodeRaw(s, tail, tfbridge.Int64, nil)
	at := func(i int64) tfbridge.Output {
		return graph.Subscript(s, place, append(lead[:len(lead):len(lead)], graph.At(i))...)
	}
	file, ordinal := at(0), at(1)
	number = graph.Add(s, r.NumberBefore(s, file), ordinal)
	if r.Engine.Own {
		return number, record
	}
	length := graph.Sub(s, graph.Cast(s, graph.StringLength(s, record), tfbridge.Int64), s.Const(n))
	return number, graph.Substr(s, record, s.Const(int64(0)), length)
}

// NumberBefore returns how many records the files before one have, an int64 scalar. Where they
// are not counted, it is the number of the file times 2^32.
func (r *Records) NumberBefore(s *graph.Scope, file tfbridge.Output) tfbridge.Output {
	_, counts := r.CountedFiles()
	if slices.Contains(counts, -1) {
		return graph.Mul(s, file, s.Const(int64(uncounted)))
	}
	before := []int64{0}
	for _, n := range counts {
		before = append(before, before[len(before)-1]+n)
	}
	return graph.GatherV2(s, s.Const(before), file, 0)
}
