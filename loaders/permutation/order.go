package permutation

// Shuffling says how the records of an epoch are shuffled.
type Shuffling string

// The ways of shuffling records that are read by their place.
const (
	None  Shuffling = "none"  // records keep their order
	Exact Shuffling = "exact" // one permutation of all records
	Block Shuffling = "block" // a permutation of blocks, and the records of some blocks mixed
)

// Part is one of the datasets from which an order draws: consecutive records among all.
type Part struct {
	First   int64
	Records int64

	// Threshold is the upper bound, exclusive, of the drawn numbers that select this
	// part, except for those that select an earlier part. Numbers are drawn from 0 to
	// 2^63 - 1. The last part gets all remaining numbers, whatever its Threshold.
	Threshold int64
}

// Spec describes the order to compute.
type Spec struct {
	Shuffling Shuffling
	Seed      int64
	Block     int64  // records of a block, at least 1
	Mixed     int64  // records that are mixed with each other in block shuffling, at least 1
	Parts     []Part // at least one; with several, none is empty
	Begin     int64  // where the shard begins in each epoch's order
	Size      int64  // size of the shard, at least 1
}

// Order computes which record is at each position. Positions count the records of all
// epochs, one epoch after the other. It is quick at positions that follow each other.
// Only one goroutine at a time may use it. cgo/datasets/record_order.h computes the
// same.
//
// # Blocks
//
// Block shuffling is for data that a disk reads well only in long pieces. It permutes
// blocks of consecutive records, and then mixes the records of some blocks that
// follow each other in that order:
//
//	records    | 0 1 2 | 3 4 5 | 6 7 8 | 9 A |     blocks of 3, the last one is short
//	permuted   | 6 7 8 | 9 A | 0 1 2 | 3 4 5 |
//	mixed      | 7 9 6 0 8 | A 2 4 1 5 | 3 |       windows of 5
//
// Both are computed, as the exact order is: a permutation of the blocks, and one of
// the positions of each window. The short block may come anywhere, so where it comes
// is looked up once an epoch, by the inverse of the permutation.
//
// # Mixtures
//
// An order of several parts draws a part for each position of an epoch, by a number
// that depends on the seed and the position only. How far it is in each part follows
// from the draws before. So to begin at a position costs a draw for each position of
// the epoch before it, some nanoseconds each, and no memory. After its end a part
// starts again, in another order.
type Order struct {
	spec  Spec
	parts []*partOrder

	epoch int64   // epoch of the draws
	drawn int64   // draws of the epoch that taken counts
	last  int     // the part drawn last
	taken []int64 // number of draws of each part
}

// NewOrder returns the order of a spec.
func NewOrder(spec *Spec) *Order {
	o := &Order{spec: *spec, epoch: -1, taken: make([]int64, len(spec.Parts))}
	for i, part := range spec.Parts {
		o.parts = append(o.parts, &partOrder{spec: &o.spec, seed: PartSeed(spec.Seed, i), records: part.Records, pass: -1})
	}
	return o
}

// passShift is the number of low bits for the passes of a part within one epoch; the
// epoch is above them.
const passShift = 32

// PassEpoch returns the epoch of the order that a part has in its r-th pass within an
// epoch, r from 0.
func PassEpoch(epoch, r int64) int64 { return epoch + r<<passShift }

// At returns the number of the record at a position among all records.
func (o *Order) At(position int64) int64 {
	epoch, at := position/o.spec.Size, o.spec.Begin+position%o.spec.Size
	if len(o.parts) == 1 {
		return o.spec.Parts[0].First + o.parts[0].at(epoch, at)
	}
	if epoch != o.epoch || at+1 < o.drawn {
		clear(o.taken)
		o.epoch, o.drawn = epoch, 0
	}
	for ; o.drawn <= at; o.drawn++ {
		o.last = o.spec.Draw(o.drawn)
		o.taken[o.last]++
	}
	part, taken := o.spec.Parts[o.last], o.taken[o.last]-1
	return part.First + o.parts[o.last].at(PassEpoch(epoch, taken/part.Records), taken%part.Records)
}

// Draw returns the part to which a position of an epoch belongs.
func (s *Spec) Draw(at int64) int {
	state := uint64(s.Seed)
	state = next(&state) + uint64(at)*golden
	drawn, part := int64(next(&state)>>1), 0
	for part+1 < len(s.Parts) && drawn >= s.Parts[part].Threshold {
		part++
	}
	return part
}

// MixtureSize returns how many examples an epoch of a mixture has. An epoch ends before
// an example would be drawn from an exhausted part, or with all examples when each part
// was read to its end. It costs a draw for each example.
func (s *Spec) MixtureSize(all bool) int64 {
	left, unread := make([]int64, len(s.Parts)), len(s.Parts)
	for i, part := range s.Parts {
		left[i] = part.Records
	}
	for at := int64(0); ; at++ {
		part := s.Draw(at)
		if left[part] == 0 && !all {
			return at
		}
		if left[part]--; left[part] == 0 {
			unread--
		}
		if all && unread == 0 {
			return at + 1
		}
	}
}

// PartSeed returns the seed of a part. The first part has the seed of the order.
func PartSeed(seed int64, part int) int64 {
	return int64(uint64(seed) + uint64(part)*0xd6e8feb86659fd93)
}

// partOrder is the order of one part.
type partOrder struct {
	spec    *Spec
	seed    int64
	records int64

	pass    int64        // the pass of that order
	order   *Permutation // permutation of the records, or of the blocks
	shortAt int64        // position of the last block, which may be short
	window  int64        // the window of mix
	mix     *Permutation
}

// at returns the record at a position of a pass, counted within the part.
func (p *partOrder) at(pass, position int64) int64 {
	switch p.spec.Shuffling {
	case Exact:
		if p.pass != pass {
			p.order, p.pass = New(p.records, Key{Seed: p.seed, Epoch: pass}), pass
		}
		return p.order.At(position)
	case Block:
		return p.atBlocks(pass, position)
	}
	return position
}

func (p *partOrder) atBlocks(pass, position int64) int64 {
	size, mixed := p.spec.Block, p.spec.Mixed
	blocks := (p.records + size - 1) / size
	if p.pass != pass {
		p.order, p.pass, p.window = New(blocks, Key{Seed: p.seed, Epoch: pass}), pass, -1
		p.shortAt = p.order.Find(blocks - 1)
	}
	window := position / mixed
	first := window * mixed
	if p.window != window {
		p.mix = New(min(mixed, p.records-first), Key{Seed: p.seed, Epoch: pass, Stream: window + 1})
		p.window = window
	}
	at := first + p.mix.At(position-first)
	if missing := blocks*size - p.records; at >= (p.shortAt+1)*size-missing {
		at += missing
	}
	return p.order.At(at/size)*size + at%size
}
