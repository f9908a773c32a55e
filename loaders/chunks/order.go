package chunks

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Order is the order in which the sequences of an epoch come. Its zero value
// is the order of the data.
type Order struct {
	Kind   OrderKind `json:"kind"`
	Bins   int64     `json:"bins,omitempty"`    // bins of Laplace; 0: PerBin decides
	PerBin int64     `json:"per_bin,omitempty"` // sequences of a bin of Laplace, about; there are at least two bins
}

// OrderKind is the word of "seq_ordering" before a colon.
type OrderKind string

// The kinds of order.
const (
	Default       OrderKind = "default"        // the order of the data
	Reverse       OrderKind = "reverse"        // the last first
	Sorted        OrderKind = "sorted"         // sorted by length, the shortest first
	SortedReverse OrderKind = "sorted_reverse" // sorted by length, the longest first
	Random        OrderKind = "random"         // a permutation
	Laplace       OrderKind = "laplace"        // a permutation in bins, of which each is sorted
)

var orderKinds = []OrderKind{Default, Reverse, Sorted, SortedReverse, Random, Laplace}

// maxBins is the largest number after "laplace:".
const maxBins = 1<<31 - 1

// ParseOrder reads a value of "seq_ordering".
func ParseOrder(text string) (Order, error) {
	word, number, given := strings.Cut(text, ":")
	kind := OrderKind(word)
	switch {
	case !slices.Contains(orderKinds, kind):
		return Order{}, fmt.Errorf("there are the orders %s, %s:N and %s:.N", kinds(), Laplace, Laplace)
	case given && kind != Laplace:
		return Order{}, fmt.Errorf("only %s takes a number", Laplace)
	case kind != Laplace:
		return Order{Kind: kind}, nil
	case !given:
		return Order{Kind: kind, Bins: 2}, nil
	}
	digits, perBin := strings.CutPrefix(number, ".")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return Order{}, fmt.Errorf("the number of %s must be an integer from 1 to %d", Laplace, maxBins)
	}
	if perBin {
		return Order{Kind: kind, PerBin: int64(n)}, nil
	}
	return Order{Kind: kind, Bins: int64(n)}, nil
}

func kinds() string {
	words := make([]string, len(orderKinds))
	for i, k := range orderKinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// IsDefault reports whether sequences keep the order of the data.
func (o Order) IsDefault() bool { return o.Kind == Default || o.Kind == "" }

// Drawn reports whether the order is drawn at random.
func (o Order) Drawn() bool { return o.Kind == Random || o.Kind == Laplace }

// NeedsLengths reports whether the order depends on the lengths of sequences.
func (o Order) NeedsLengths() bool {
	return o.Kind == Sorted || o.Kind == SortedReverse || o.Kind == Laplace
}

// String returns the order in the form of "seq_ordering".
func (o Order) String() string {
	switch {
	case o.Kind != Laplace:
		return string(o.Kind)
	case o.PerBin > 0:
		return fmt.Sprintf("%s:.%d", o.Kind, o.PerBin)
	}
	return fmt.Sprintf("%s:%d", o.Kind, o.Bins)
}

// Arrange returns the order of n sequences: their places in the data. A drawn
// order is a function of seed and draw. Lengths may be nil if the order does
// not need them.
func (o Order) Arrange(n int64, lengths []int32, seed, draw int64) []int64 {
	places := make([]int64, n)
	for i := range places {
		places[i] = int64(i)
	}
	byLength := func(a, b int64) int { return cmp.Compare(lengths[a], lengths[b]) }
	switch o.Kind {
	case Reverse:
		slices.Reverse(places)
	case Sorted:
		slices.SortStableFunc(places, byLength)
	case SortedReverse:
		slices.SortStableFunc(places, func(a, b int64) int { return byLength(b, a) })
	case Random:
		newDraws(seed, draw).permute(places)
	case Laplace:
		newDraws(seed, draw).permute(places)
		bins := o.BinsOf(n)
		if bins >= n {
			break // no bin has two
		}
		for b := range bins {
			bin := places[Share(n, bins, b):Share(n, bins, b+1)]
			if b%2 == 0 {
				slices.SortStableFunc(bin, byLength)
			} else {
				slices.SortStableFunc(bin, func(a, b int64) int { return byLength(b, a) })
			}
		}
	}
	return places
}

// BinsOf returns the number of bins for n sequences, 0 of an order without bins.
func (o Order) BinsOf(n int64) int64 {
	if o.PerBin > 0 {
		return max(n/o.PerBin, 2)
	}
	return o.Bins
}

// Share returns the floor of b n / bins, the beginning of bin b of n. It is exact for
// any n, even if b n exceeds an int64.
func Share(n, bins, b int64) int64 {
	return n/bins*b + n%bins*b/bins
}

// Part returns the bounds of part k when n ordered sequences are divided into a number
// of parts: the first n mod parts have one more than the others.
func Part(n, parts, k int64) (begin, end int64) {
	size, longer := n/parts, n%parts
	begin = k*size + min(k, longer)
	end = begin + size
	if k < longer {
		end++
	}
	return begin, end
}

// draws are random numbers that depend on a seed and the number of a draw
// alone. The generator and the way numbers become permutations are fixed here,
// and not left to math/rand, so that a seed gives the same order with every
// release of Go.
type draws struct{ source *rand.PCG }

func newDraws(seed, draw int64) draws {
	return draws{rand.NewPCG(uint64(seed), uint64(draw))}
}

// permute puts places in random order.
func (d draws) permute(places []int64) {
	for i := uint64(len(places)); i > 1; i-- {
		j := d.below(i)
		places[i-1], places[j] = places[j], places[i-1]
	}
}

// below returns a number from 0 up to but without n, each as likely: the high word of n
// times a random word. The low word identifies the few words that would make some
// numbers more likely; those are drawn again.
func (d draws) below(n uint64) uint64 {
	for {
		high, low := bits.Mul64(d.source.Uint64(), n)
		if low >= -n%n {
			return high
		}
	}
}
