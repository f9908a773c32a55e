package plan

import (
	"millrace/loaders/chunks"
	"millrace/loaders/permutation"
)

// OrderPeriod returns which draw of the order an epoch has: an order is drawn
// once for as many epochs as the data have parts.
func (p *Plan) OrderPeriod(epoch int64) int64 { return epoch / p.Chunks.Partition }

// EpochPart returns which sequences of the order an epoch takes, from begin up
// to but without end.
func (p *Plan) EpochPart(scan *Scan, epoch int64) (begin, end int64) {
	parts := p.Chunks.Partition
	begin, end = chunks.Part(p.orderedSequences(scan), parts, epoch%parts)
	if p.Records != nil {
		first, behind := chunks.Part(end-begin, p.Records.Shards, p.Records.Shard)
		begin, end = begin+first, begin+behind
	}
	return begin, end
}

// orderedSequences returns how many sequences an order has.
func (p *Plan) orderedSequences(scan *Scan) int64 {
	records, _ := scan.Records()
	switch {
	case p.Records == nil:
		return records
	case p.Mixture != nil:
		return scan.MixtureSize
	}
	first, end := p.recordRange(records)
	return end - first
}

// FirstSequence returns the place of the first sequence in the order of the data.
func (p *Plan) FirstSequence() int64 {
	if p.Records == nil {
		return 0
	}
	return p.Records.Start
}

// SequenceOrder returns the places of all sequences in the order of a period, nil for
// the order of the data.
func (p *Plan) SequenceOrder(scan *Scan, period int64) []int64 {
	if p.Mixture != nil {
		return p.mixedSequences(scan, period)
	}
	if p.Chunks.Order.IsDefault() {
		return nil
	}
	return p.arrange(scan, permutation.Part{First: p.FirstSequence(), Records: p.orderedSequences(scan)}, p.Seed, period)
}

// arrange returns the places of the sequences of a part, in the order of a draw.
func (p *Plan) arrange(scan *Scan, part permutation.Part, seed, draw int64) []int64 {
	lengths := scan.Lengths
	if lengths != nil {
		lengths = lengths[part.First : part.First+part.Records]
	}
	places := p.Chunks.Order.Arrange(part.Records, lengths, seed, draw)
	for i := range places {
		places[i] += part.First
	}
	return places
}

// mixedSequences draws the sequences of an epoch of a mixture. Those of each dataset come
// in the order that the config says, and in another draw of it when they begin again.
func (p *Plan) mixedSequences(scan *Scan, epoch int64) []int64 {
	spec := p.NewOrder(scan).Spec()
	orders := make([][]int64, len(spec.Parts))
	taken := make([]int64, len(spec.Parts))
	places := make([]int64, scan.MixtureSize)
	for at := range places {
		i := spec.Draw(int64(at))
		part := spec.Parts[i]
		pass, place := taken[i]/part.Records, taken[i]%part.Records
		if place == 0 {
			orders[i] = p.arrange(scan, part, permutation.PartSeed(p.Seed, i), permutation.PassEpoch(epoch, pass))
		}
		places[at] = orders[i][place]
		taken[i]++
	}
	return places
}
