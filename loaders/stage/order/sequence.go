package order

import (
	"millrace/loaders/chunks"
	"millrace/loaders/permutation"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
)

// Period returns the index of the draw that an epoch uses. The order is drawn once for a
// cycle of epochs, one epoch for each part of the data.
func Period(s *spec.Spec, epoch int64) int64 { return epoch / s.Chunks.Partition }

// EpochPart returns which sequences of the order an epoch takes: begin to end, without
// end.
func EpochPart(s *spec.Spec, found *scan.Scan, epoch int64) (begin, end int64) {
	parts := s.Chunks.Partition
	begin, end = chunks.Part(Sequences(s, found), parts, epoch%parts)
	if s.Records != nil {
		first, behind := chunks.Part(end-begin, s.Records.Shards, s.Records.Shard)
		begin, end = begin+first, begin+behind
	}
	return begin, end
}

// Sequences returns how many sequences an order has.
func Sequences(s *spec.Spec, found *scan.Scan) int64 {
	records, _ := found.Records()
	switch {
	case s.Records == nil:
		return records
	case s.Mixture != nil:
		return found.MixtureSize
	}
	first, end := Range(s, records)
	return end - first
}

// FirstSequence returns the place of the first sequence in the order of the data.
func FirstSequence(s *spec.Spec) int64 {
	if s.Records == nil {
		return 0
	}
	return s.Records.Start
}

// OfSequences returns the places of all sequences in the order of a period, nil for
// the order of the data.
func OfSequences(s *spec.Spec, found *scan.Scan, period int64) []int64 {
	if s.Mixture != nil {
		return mixedSequences(s, found, period)
	}
	if s.Chunks.Order.IsDefault() {
		return nil
	}
	return arrange(s, found, permutation.Part{First: FirstSequence(s), Records: Sequences(s, found)}, s.Seed, period)
}

// arrange returns the places of the sequences of a part, in the order of a draw.
func arrange(s *spec.Spec, found *scan.Scan, part permutation.Part, seed, draw int64) []int64 {
	lengths := found.Lengths
	if lengths != nil {
		lengths = lengths[part.First : part.First+part.Records]
	}
	places := s.Chunks.Order.Arrange(part.Records, lengths, seed, draw)
	for i := range places {
		places[i] += part.First
	}
	return places
}

// mixedSequences draws the sequences of an epoch of a mixture. The sequences of each
// dataset come in the configured order. When a dataset begins again, its order is drawn
// again.
func mixedSequences(s *spec.Spec, found *scan.Scan, epoch int64) []int64 {
	spec := New(s, found).Spec()
	orders := make([][]int64, len(spec.Parts))
	taken := make([]int64, len(spec.Parts))
	places := make([]int64, found.MixtureSize)
	for at := range places {
		i := spec.Draw(int64(at))
		part := spec.Parts[i]
		pass, place := taken[i]/part.Records, taken[i]%part.Records
		if place == 0 {
			orders[i] = arrange(s, found, part, permutation.PartSeed(s.Seed, i), permutation.PassEpoch(epoch, pass))
		}
		places[at] = orders[i][place]
		taken[i]++
	}
	return places
}
