package analyze

import (
	"math"
	"slices"
)

// # Quantiles in bounded memory
//
// The question: the median of a billion values, without keeping them.
//
// The answer is the sketch of Karnin, Lang and Liberty (2016). Level 0 takes values. When a level
// is full, it is sorted, and every second value goes to the next level, where it stands for twice
// as many. Lower levels are smaller than higher ones. The rank of a value is then wrong by about
// 1.6/size of all values; the sketch here has room for some 12,000 values, whose ranks are wrong
// by less than 0.1%.
//
//	level 2   a value stands for 4
//	level 1   a value stands for 2
//	level 0   a value stands for 1
//
// When the lowest levels would have less than two values, they are replaced by a sampler: of each
// block of values it takes one. So most values of large data cost a count and no more. Splitmix64
// makes the draws from a fixed state: the same values in the same order give the same
// sketch.

const (
	sketchSize  = 4096
	sketchDecay = 2.0 / 3
	sketchLeast = 256 // the smallest room of a level
)

// sketch estimates quantiles. Its zero value is empty.
type sketch struct {
	levels  [][]float64
	sampled int    // level that values enter at: each stands for 2^sampled
	block   int64  // values seen of the block that one is taken of
	take    int64  // which one of the block
	state   uint64 // generates the draws
	keys    []uint64
}

func (s *sketch) draw() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// add adds a value that is not NaN.
func (s *sketch) add(x float64) {
	if s.sampled > 0 {
		at := s.block
		if s.block++; s.block == 1<<s.sampled {
			defer s.nextBlock()
		}
		if at != s.take {
			return
		}
	}
	s.insert(s.sampled, x)
}

// addAll adds values that are not NaN, with what [sketch.add] would do with each of them.
func (s *sketch) addAll(list []float64) {
	for len(list) > 0 {
		if s.sampled > 0 {
			next := int64(1)<<s.sampled - 1 // the next value that is more than counted
			if s.block <= s.take {
				next = s.take
			}
			skipped := min(next-s.block, int64(len(list)))
			s.block += skipped
			if list = list[skipped:]; len(list) == 0 {
				return
			}
		}
		s.add(list[0])
		list = list[1:]
	}
}

func (s *sketch) nextBlock() {
	s.block, s.take = 0, int64(s.draw()>>(64-s.sampled))
}

func (s *sketch) insert(level int, x ...float64) {
	for len(s.levels) <= level {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], x...)
	if len(s.levels[level]) < sketchLeast {
		return // every level has room for that
	}
	for level := level; level < len(s.levels) && len(s.levels[level]) >= s.room(level); level++ {
		s.compact(level)
	}
}

// room returns how many values a level holds.
func (s *sketch) room(level int) int {
	depth := len(s.levels) - 1 - level
	return max(int(sketchSize*math.Pow(sketchDecay, float64(depth))), sketchLeast)
}

// compact moves every second value of a level up.
func (s *sketch) compact(level int) {
	full := s.levels[level]
	s.sort(full)
	if level+1 == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	for i := int(s.draw() >> 63); i < len(full); i += 2 {
		s.levels[level+1] = append(s.levels[level+1], full[i])
	}
	s.levels[level] = full[:0]
	for s.room(s.sampled) == sketchLeast && s.sampled < level && s.room(s.sampled+1) == sketchLeast {
		s.insertUp()
	}
}

// sort sorts values that are not NaN, by integers in the same order: comparing these takes half the time.
// -0 comes before 0.
func (s *sketch) sort(list []float64) {
	const sign = 1 << 63
	s.keys = s.keys[:0]
	for _, x := range list {
		b := math.Float64bits(x)
		if b&sign != 0 {
			b = ^b
		} else {
			b |= sign
		}
		s.keys = append(s.keys, b)
	}
	slices.Sort(s.keys)
	for i, b := range s.keys {
		if b&sign != 0 {
			b &^= sign
		} else {
			b = ^b
		}
		list[i] = math.Float64frombits(b)
	}
}

// insertUp lets values enter one level higher.
func (s *sketch) insertUp() {
	rest := s.levels[s.sampled]
	s.levels[s.sampled] = nil
	s.sampled++
	for i := int(s.draw() >> 63); i < len(rest); i += 2 {
		s.levels[s.sampled] = append(s.levels[s.sampled], rest[i])
	}
	s.nextBlock()
}

// merge adds the values of another sketch.
func (s *sketch) merge(o *sketch) {
	for level, values := range o.levels {
		if len(values) > 0 {
			s.insert(level, values...)
		}
	}
}

// bars is how many ranges a histogram has.
const bars = 32

// histogram returns the parts of the values in equal ranges from least to most, nil if these are the
// same.
func (s *sketch) histogram(least, most float64) []float64 {
	span := most - least
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	counts, total := make([]float64, bars), 0.0
	for level, values := range s.levels {
		n := math.Ldexp(1, level)
		for _, x := range values {
			counts[min(max(int((x-least)/span*bars), 0), bars-1)] += n
			total += n
		}
	}
	if total == 0 {
		return nil
	}
	for i := range counts {
		counts[i] = math.Round(counts[i]/total*1e6) / 1e6
	}
	return counts
}

// quantiles returns the values below which parts of all values lie.
func (s *sketch) quantiles(parts []float64) []float64 {
	type weighted struct{ x, n float64 }
	var all []weighted
	total := 0.0
	for level, values := range s.levels {
		for _, x := range values {
			all = append(all, weighted{x, math.Ldexp(1, level)})
			total += math.Ldexp(1, level)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b weighted) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	out, i, below := make([]float64, len(parts)), 0, all[0].n
	for k, part := range parts {
		for i+1 < len(all) && below < part*total {
			i++
			below += all[i].n
		}
		out[k] = all[i].x
	}
	return out
}
