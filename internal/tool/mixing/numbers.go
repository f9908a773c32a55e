package mixing

import (
	"sort"

	"millrace/loaders"
)

// contextEvery is how many records are handled between two looks at the context.
const contextEvery = 1 << 16

// fileStarts returns for each file how many records are in the files before it, and at
// the end how many there are in all.
func fileStarts(plan *loaders.Plan, scan *loaders.Scan) []int64 {
	starts := make([]int64, 1, len(plan.Files)+1)
	for i := range plan.Files {
		starts = append(starts, starts[i]+scan.Count(i))
	}
	return starts
}

// fileOf returns the file of a record.
func fileOf(starts []int64, number int64) int {
	return sort.Search(len(starts)-1, func(i int) bool { return starts[i+1] > number })
}
