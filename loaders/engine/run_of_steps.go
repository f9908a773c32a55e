package engine

import (
	"slices"

	"millrace/loaders/spec"
)

// runFrom returns the longest run of steps from a step on that add accepts, as indexes in the
// spec's steps. Each of them reads one tensor alone, and replaces it; the batch has the last one.
func runFrom(c Choice, first int, add func(s spec.Step) bool) (run []int) {
	tensor := c.Steps[first].Writes
	for i := first; i < len(c.Steps); i++ {
		s := c.Steps[i]
		begins := i == first
		if !begins && !slices.Contains(s.Reads, tensor) && s.Writes != tensor && !slices.Contains(s.Drops, tensor) {
			continue // a step on other tensors
		}
		alone := len(s.Reads) == 1 && s.Writes == tensor && (begins || s.Reads[0] == tensor && len(s.Drops) == 0)
		if !alone || !add(s) {
			break
		}
		run = append(run, i)
	}
	return run
}
