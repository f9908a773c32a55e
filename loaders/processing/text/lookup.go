package text

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// LookupArgs are the arguments of a step of type lookup.
type LookupArgs struct {
	decl.Object
	Vocabulary decl.Either[string, []string] `json:"vocabulary" decl:"required,nonempty,most=10000000" doc:"The words, each once: a list, or the path of a file with a word in each line."`
	OOV        int64                         `json:"oov" decl:"default=1,min=1" doc:"How many numbers after those of the vocabulary stand for words that are not in it. The hash of a word decides which one."`
	Start      int64                         `json:"start" decl:"default=0,min=0,limit=1152921504606846976" doc:"The number of the first word."`
}

// maxVocabulary is the largest size of a file of words. The words become a constant of
// the graph.
const maxVocabulary = 1 << 30

// lookup is a step of type lookup.
type lookup struct {
	to         processing.Tensor
	words      []string
	oov, start int64
	digest     [sha256.Size]byte
}

// Check reads the vocabulary, and reports duplicate words.
func (a *LookupArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("vocabulary", "oov", "start") {
		return nil
	}
	words, ok := a.words(c)
	t, known := c.Strings()
	if !ok || !known {
		return nil
	}
	l := &lookup{to: processing.Tensor{DType: dtype.Int64, Shape: t.Shape}, words: words, oov: a.OOV, start: a.Start}
	l.digest = sha256.Sum256([]byte(strings.Join(words, "\n")))
	return l
}

// words returns the vocabulary.
func (a *LookupArgs) words(c *processing.Context) (words []string, ok bool) {
	at := a.Key("vocabulary")
	place := func(i int) *jsonpos.Node { return at.Elem(i) }
	if a.Vocabulary.A != nil {
		path := *a.Vocabulary.A
		text, ok := c.Read(at, path, maxVocabulary)
		if !ok {
			c.Reporter.List[len(c.Reporter.List)-1].Hint = "a vocabulary is a file with a word in each line; the first one has the index start; " +
				"millrace analyze CONFIG --out stats.json --vocabulary TENSOR=" + path + " makes it"
			return nil, false
		}
		words = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(text) == 0 {
			c.Report(at, "%s has no words", decl.QuotePath(path))
			return nil, false
		}
		place = func(int) *jsonpos.Node { return at }
	} else if a.Vocabulary.B != nil {
		words = *a.Vocabulary.B
	}
	first := make(map[string]int, len(words))
	for i, w := range words {
		if k, found := first[w]; found {
			c.Report(place(i), "the word %s is there twice: number %d and %d of the vocabulary", decl.Quote(w), k+1, i+1)
			return nil, false
		}
		first[w] = i
	}
	return words, len(words) > 0
}

// Explain returns the size and the digest of the vocabulary.
func (l *lookup) Explain() string {
	what := fmt.Sprintf("%d words (%x), %d for others", len(l.words), l.digest[:6], l.oov)
	if l.start > 0 {
		what += fmt.Sprintf(", from %d", l.start)
	}
	return what
}

// Out returns the tensor of numbers.
func (l *lookup) Out() processing.Tensor { return l.to }

// Elementwise returns true.
func (*lookup) Elementwise() bool { return true }

// Prepare adds the table. It is filled before anything uses it.
func (l *lookup) Prepare(b *processing.Site) any {
	s := b.SubScope("vocabulary")
	table := s.Op1("HashTableV2", map[string]any{"key_dtype": tfbridge.String, "value_dtype": tfbridge.Int64})
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	words := s.Const(l.words)
	numbers := graph.Range(s, s.Const(l.start), s.Const(l.end()), s.Const(int64(1)))
	fill := s.AddOperation(tfbridge.OpSpec{Type: "InitializeTableV2", Input: []tfbridge.Input{table, words, numbers}})
	return graph.Identity(s.WithControlDependencies(fill), table)
}

// AddToWords adds the vocabulary.
func (l *lookup) AddToWords(w *processing.Words) bool {
	if !w.Split || w.List != nil {
		return false
	}
	w.List, w.Start, w.Others = l.words, l.start, l.oov
	return true
}

// end returns the number after the vocabulary.
func (l *lookup) end() int64 { return l.start + int64(len(l.words)) }

// Build looks the words up, and hashes those that are not found if there is more than one
// number for them.
func (l *lookup) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	find := func(missing tfbridge.Output) tfbridge.Output {
		return b.Op1("LookupTableFindV2", map[string]any{"Tin": tfbridge.String, "Tout": tfbridge.Int64}, b.Prepared.(tfbridge.Output), in[0], missing)
	}
	if l.oov == 1 {
		return find(b.Const(l.end()))
	}
	missing := b.Const(int64(-1))
	found := find(missing)
	hashed := b.Op1("StringToHashBucketFast", map[string]any{"num_buckets": l.oov}, in[0])
	others := b.Tensor(hashed).Add(b.Const(l.end())).Output()
	return b.Op1("SelectV2", nil, b.Op1("NotEqual", nil, found, missing), found, others)
}
