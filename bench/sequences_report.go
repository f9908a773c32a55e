package main

import "fmt"

func samplesRate(v float64) string { return fmt.Sprintf("%.4g Msamples/s", v/1e6) }

// sequenceRows are the comparisons of the sequence loaders. The copies in
// memory are in Python's column.
func sequenceRows() []row {
	var targeted, others []row
	for _, form := range []string{"float", "raw"} {
		for _, kind := range windowKinds {
			at := func(r round) *windowRound { return r.Sequences.Windows[windowKey(form, kind.size)] }
			name := fmt.Sprintf("windows of %d %s samples, ", kind.size, form)
			ours := func(r round) float64 { return at(r).Samples }
			if kind.slide > 0 {
				targeted = append(targeted, row{name + "against a slide over samples", ours,
					func(r round) float64 { return at(r).Slide.RecordsPerS }, samplesRate, target{atLeast: kind.slide}})
			}
			chunks := row{name + "against chunks cut up", ours,
				func(r round) float64 { return at(r).Chunks.RecordsPerS }, samplesRate, target{atLeast: kind.chunks}}
			if kind.chunks > 0 {
				targeted = append(targeted, chunks)
			} else {
				others = append(others, chunks)
			}
			targeted = append(targeted, row{name + "against copies in memory", ours,
				func(r round) float64 { return at(r).Copy }, samplesRate, target{atLeast: kind.copies}})
		}
	}
	lists := func(r round) float64 { return r.Sequences.Lists.RecordsPerS }
	targeted = append(targeted,
		row{"padded lists, against one SequenceExample parsed at a time", lists,
			func(r round) float64 { return r.Sequences.Single.RecordsPerS }, rate, target{atLeast: 4}},
		row{"padded lists, against batched parsing", lists,
			func(r round) float64 { return r.Sequences.Batched.RecordsPerS }, rate, target{atLeast: 1}})
	return append(targeted, others...)
}
