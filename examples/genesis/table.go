package main

import (
	"cmp"
	"math"
	"slices"
)

// longest is the length of the longest context in a table, in characters.
const longest = 4

// characters is the number of different characters.
const characters = 256

// table counts the characters that follow each context of up to longest
// characters.
type table struct {
	after [longest + 1]map[string]*followers // index: the context's length
}

// followers counts the characters that follow one context.
type followers struct {
	counts [characters]int
	total  int
	kinds  int // number of different characters
}

// add counts a window's characters.
func (t *table) add(text []byte) {
	for i, c := range text {
		for length := 0; length <= min(i, longest); length++ {
			t.count(text[i-length:i], c)
		}
	}
}

// count counts one character after one context.
func (t *table) count(context []byte, c byte) {
	m := t.after[len(context)]
	if m == nil {
		m = map[string]*followers{}
		t.after[len(context)] = m
	}
	f := m[string(context)]
	if f == nil {
		f = &followers{}
		m[string(context)] = f
	}
	if f.counts[c] == 0 {
		f.kinds++
	}
	f.counts[c]++
	f.total++
}

// probability returns the probability of a character after a context. It mixes
// the counts of the whole context with the counts of ever shorter contexts
// (Witten-Bell smoothing): the more different characters were seen after a
// context, the less its own counts weigh.
func (t *table) probability(context []byte, c byte) float64 {
	p := 1.0 / characters
	for length := 0; length <= len(context); length++ {
		f := t.after[length][string(context[len(context)-length:])]
		if f == nil {
			break // longer contexts were not seen either
		}
		p = (float64(f.counts[c]) + float64(f.kinds)*p) / float64(f.total+f.kinds)
	}
	return p
}

// bits returns the number of bits that encode a text, if each character is
// predicted from up to length characters before it.
func (t *table) bits(text []byte, length int) float64 {
	sum := 0.0
	for i, c := range text {
		sum -= math.Log2(t.probability(text[max(0, i-length):i], c))
	}
	return sum
}

// next is a character with its share among the characters after a context.
type next struct {
	character byte
	share     float64
}

// likeliest returns up to n characters that follow a context most often.
func (t *table) likeliest(context string, n int) []next {
	f := t.after[len(context)][context]
	if f == nil {
		return nil
	}
	var all []next
	for c, count := range f.counts {
		if count > 0 {
			all = append(all, next{byte(c), float64(count) / float64(f.total)})
		}
	}
	slices.SortStableFunc(all, func(a, b next) int { return cmp.Compare(b.share, a.share) })
	return all[:min(n, len(all))]
}

// tally counts windows, verses and characters.
type tally struct {
	windows, verses, characters int
}

// add counts one window.
func (t *tally) add(w window) {
	t.windows++
	t.verses += w.verses
	t.characters += len(w.text)
}
