package analyze

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// words counts strings. Up to mostWords are counted exactly. With more, those that came least often
// are dropped, again and again: then a count may be too small by Dropped, and words that came no
// more often than that may be missing (Manku and Motwani, lossy counting).
type words struct {
	parts [wordParts]wordPart
	seed  maphash.Seed
	most  int // words in all
}

// wordPart has the words of a hash, so that several goroutines can count.
type wordPart struct {
	mu      sync.Mutex
	counts  map[string]int64
	bytes   int64
	dropped int64
}

const (
	wordParts = 16
	mostWords = 2 << 20   // limit of all parts together
	wordBytes = 256 << 20 // limit of all parts together
)

func newWords(most int) *words {
	w := &words{seed: maphash.MakeSeed(), most: most}
	for i := range w.parts {
		w.parts[i].counts = map[string]int64{}
	}
	return w
}

// add counts a string.
func (w *words) add(text string) {
	p := &w.parts[maphash.String(w.seed, text)%wordParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.counts[text]; !known {
		text = strings.Clone(text) // it may be a part of a batch
		p.bytes += int64(len(text))
	}
	p.counts[text]++
	for len(p.counts) > w.most/wordParts || p.bytes > wordBytes/wordParts && len(p.counts) > 1 {
		p.drop()
	}
}

// addCounted adds a string that came n times, of words whose counts may be too small by dropped.
func (w *words) addCounted(text string, n, dropped int64) {
	p := &w.parts[maphash.String(w.seed, text)%wordParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.counts[text]; !known {
		p.bytes += int64(len(text))
	}
	p.counts[text] += n
	p.dropped = max(p.dropped, dropped)
	for len(p.counts) > w.most/wordParts || p.bytes > wordBytes/wordParts && len(p.counts) > 1 {
		p.drop()
	}
}

// merge adds the words of another table.
func (w *words) merge(o *words) {
	list, dropped := o.sorted()
	for _, x := range list {
		w.addCounted(x.Text, x.Count, 0)
	}
	for i := range w.parts {
		w.parts[i].dropped += dropped
	}
}

// drop drops the words that came least often.
func (p *wordPart) drop() {
	p.dropped++
	for text, n := range p.counts {
		if n <= p.dropped {
			delete(p.counts, text)
			p.bytes -= int64(len(text))
		}
	}
}

// Word is a string and how often it came.
type Word struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// sorted returns the words, the most frequent ones first, and those that came equally often by
// their bytes. dropped is by how much counts may be too small.
func (w *words) sorted() (list []Word, dropped int64) {
	for i := range w.parts {
		for text, n := range w.parts[i].counts {
			list = append(list, Word{text, n})
		}
		dropped = max(dropped, w.parts[i].dropped)
	}
	slices.SortFunc(list, func(a, b Word) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return list, dropped
}
