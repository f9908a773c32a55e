package chunks

import (
	"math/bits"
	"math/rand/v2"
)

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
