// Package permutation computes the orders of exact shuffling.
//
//	order := permutation.New(records, permutation.Key{Seed: 1, Epoch: 0})
//	for i := range records {
//		read(order.At(i))
//	}
//
// # The question
//
// Exact shuffling reads the records of a dataset in a uniformly drawn order, another
// one in each epoch. A drawn order of ten million records takes 80 MB, and a saved
// position must either hold it or draw it again. So the order should be computed: a
// function from a position to a record that needs no memory, gives each record once,
// and looks as if it were drawn.
//
// # The answer
//
// Such a function is a block cipher over the numbers below n. It has two parts:
//
//  1. A Feistel network is a permutation of the numbers of w bits, whatever its round
//     function is. The number is split into two halves. Each round changes one half by
//     XOR with a hash of the other half and of the round's key:
//
//     round 0, 2, ...   high ^= hash(low, key)
//     round 1, 3, ...   low ^= hash(high, key)
//
//     It can be undone round by round, so two numbers never become one.
//
//  2. n is seldom a power of two. w is the least number of bits that hold n - 1. Where
//     the network gives a number of n or more it is applied again, until the result
//     is below n ("cycle walking"). Walking along a cycle of a permutation comes back
//     to its first number at the latest, so this ends, and still gives each number
//     once. As at least half of the numbers of w bits are below n, it takes less than
//     two rounds through the network on average.
//
// Numbers of few bits would have halves of a bit or two, and the network could make
// only few of all permutations. So w is at least 8: small n walk further.
//
// The same tests were run on a shuffled array: they find no difference. A swap-or-not
// shuffle needs no walking, but 100 rounds and more. cgo/datasets/permutation.h
// computes the same.
package permutation

import "math/bits"

// rounds is twice the number that the tests need: they fail with two, and pass with
// four.
const rounds = 8

// minBits is the smallest width of the network.
const minBits = 8

// Key selects a permutation of n numbers.
type Key struct {
	Seed   int64
	Epoch  int64
	Stream int64 // number of the permutation among those of one epoch; 0 is the first
}

// Permutation is an order of the numbers below n. Its methods may be called
// concurrently.
type Permutation struct {
	n        uint64
	lowBits  uint
	low      uint64 // mask of the low half
	high     uint64 // mask of the high half, shifted down
	roundKey [rounds]uint64
}

// New returns the permutation of the numbers below n, which is not negative, with a
// key.
func New(n int64, key Key) *Permutation {
	width := minBits
	if n > 1 {
		width = max(width, bits.Len64(uint64(n-1)))
	}
	lowBits := uint(width / 2)
	p := &Permutation{n: uint64(n), lowBits: lowBits, low: 1<<lowBits - 1, high: 1<<(uint(width)-lowBits) - 1}
	state := uint64(key.Seed)
	state = next(&state) ^ uint64(key.Epoch)
	if key.Stream != 0 {
		state = next(&state) ^ uint64(key.Stream)
	}
	for i := range p.roundKey {
		p.roundKey[i] = next(&state)
	}
	return p
}

// At returns the number at a position. Both are from 0 to n - 1.
func (p *Permutation) At(position int64) int64 {
	x := uint64(position)
	for {
		if x = p.network(x); x < p.n {
			return int64(x)
		}
	}
}

// Find returns the position of a number. Both are from 0 to n - 1.
func (p *Permutation) Find(number int64) int64 {
	x := uint64(number)
	for {
		if x = p.inverse(x); x < p.n {
			return int64(x)
		}
	}
}

// network permutes the numbers of its width.
func (p *Permutation) network(x uint64) uint64 {
	low, high := x&p.low, x>>p.lowBits
	for i := 0; i < rounds; i += 2 {
		high ^= hash(low+p.roundKey[i]) & p.high
		low ^= hash(high+p.roundKey[i+1]) & p.low
	}
	return high<<p.lowBits | low
}

// inverse undoes network.
func (p *Permutation) inverse(x uint64) uint64 {
	low, high := x&p.low, x>>p.lowBits
	for i := rounds - 2; i >= 0; i -= 2 {
		low ^= hash(high+p.roundKey[i+1]) & p.low
		high ^= hash(low+p.roundKey[i]) & p.high
	}
	return high<<p.lowBits | low
}

// hash returns 32 well mixed bits.
func hash(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x >> 32
}

// golden is the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// next returns the next number of SplitMix64, a generator of random numbers whose
// state may have any value.
func next(state *uint64) uint64 {
	*state += golden
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
