package native

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Words describes how [Words.Build] makes numbers of texts.
type Words struct {
	Lower  bool   // the letters A to Z are made small before
	Sep    string // what stands between words; "": any white space, and then no word is empty
	Most   int64  // how many words of a text are taken, the first ones; -1: all
	Start  int64  // the number of the first word of the vocabulary
	Others int64  // how many numbers stand for words that are not in it, at least 1; the hash decides
}

// Build splits a vector of texts into words, and returns the numbers of these words in a vocabulary, a
// vector of different strings: all numbers one after another, int64, and where each text begins in them,
// int64, with the end of the last one. The values equal TensorFlow's StringLower, StringSplitV2,
// LookupTableFindV2 and StringToHashBucketFast. No text fails.
func (w *Words) Build(s *graph.Scope, texts, vocabulary tfbridge.Output) (numbers, splits tfbridge.Output) {
	out := s.Op(opWords, attrs{"lower": w.Lower, "sep": w.Sep, "most": w.Most, "start": w.Start, "others": w.Others}, texts, vocabulary)
	if s.Err() != nil {
		return tfbridge.Output{}, tfbridge.Output{}
	}
	return out[0], out[1]
}
