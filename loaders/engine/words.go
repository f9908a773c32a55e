package engine

import (
	"slices"

	"millrace/loaders/processing"
	"millrace/loaders/spec"
)

// WordChain is a run of processing steps on one text that one native operation carries out for a
// whole batch: see [processing.WordStep].
type WordChain struct {
	Steps []int // indexes in the spec's steps, ascending
	Words processing.Words
}

// batchWords: one operation splits the texts of a batch and looks their words up.
var batchWords = rewrite{name: "batch_words", shown: func(c Choice) bool { return len(wordChains(c)) > 0 }, rules: []rule{
	{when: func(c Choice) bool { return !c.Own }, why: "the library of dataset operations is not built for this runtime (millrace runtime native)"},
	{when: not(does(raggedRows)), why: "texts are processed one by one"},
	{applied: true, why: "the texts of a batch are split, and their words looked up, by one operation"},
}}

// WordChains returns the runs of steps that one operation carries out.
func WordChains(c Choice) []WordChain {
	list := wordChains(c)
	if len(list) == 0 || !c.decide(batchWords).Applied {
		return nil
	}
	return list
}

func wordChains(c Choice) (list []WordChain) {
	for i, s := range c.Steps {
		_, ok := s.Action.(processing.WordStep)
		if !ok || slices.ContainsFunc(list, func(l WordChain) bool { return slices.Contains(l.Steps, i) }) {
			continue
		}
		var chain WordChain
		chain.Words.Most = -1
		chain.Steps = runFrom(c, i, func(s spec.Step) bool {
			w, ok := s.Action.(processing.WordStep)
			return ok && w.AddToWords(&chain.Words)
		})
		if chain.Words.List != nil {
			list = append(list, chain)
		}
	}
	return list
}
