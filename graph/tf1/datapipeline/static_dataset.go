package datapipeline

import (
	"cmp"
	"context"
	"iter"
	"math/rand/v2"
	"slices"
)

// StaticDataset is a dataset whose sequences are in memory.
type StaticDataset struct {
	DatasetName string      // what Name returns
	Seqs        []*Sequence // their tags should differ
	SeqOrdering SeqOrdering // the order of the sequences in an epoch
	Seed        uint64      // seed of the order Random: an epoch's order depends only on Seed and the epoch
	// Length returns the number of frames, the sort key of Sorted and SortedReverse.
	Length func(*Sequence) int
}

// SeqOrdering is an order of sequences.
type SeqOrdering string

// The orders, by RETURNN's names. Sequences of equal length keep the order of the data.
const (
	Default       SeqOrdering = ""
	Reverse       SeqOrdering = "reverse"
	Random        SeqOrdering = "random"
	Sorted        SeqOrdering = "sorted"
	SortedReverse SeqOrdering = "sorted_reverse"
)

// Name returns DatasetName.
func (d *StaticDataset) Name() string { return d.DatasetName }

// NumSeqs returns the number of the sequences.
func (d *StaticDataset) NumSeqs() (int64, bool) { return int64(len(d.Seqs)), true }

// Sequences yields the sequences in the order of an epoch.
func (d *StaticDataset) Sequences(_ context.Context, epoch int64) iter.Seq2[*Sequence, error] {
	return func(yield func(*Sequence, error) bool) {
		for _, seq := range d.ordered(epoch) {
			if !yield(seq, nil) {
				return
			}
		}
	}
}

// ordered returns the sequences in the order of an epoch.
func (d *StaticDataset) ordered(epoch int64) []*Sequence {
	seqs := slices.Clone(d.Seqs)
	byLength := func(a, b *Sequence) int { return cmp.Compare(d.Length(a), d.Length(b)) }
	switch d.SeqOrdering {
	case Reverse:
		slices.Reverse(seqs)
	case Random:
		random := rand.New(rand.NewPCG(d.Seed, uint64(epoch)))
		random.Shuffle(len(seqs), func(i, k int) { seqs[i], seqs[k] = seqs[k], seqs[i] })
	case Sorted:
		slices.SortStableFunc(seqs, byLength)
	case SortedReverse:
		slices.SortStableFunc(seqs, func(a, b *Sequence) int { return byLength(b, a) })
	}
	return seqs
}
