package mixing

import (
	"sort"

	"millrace/loaders"
)

// contextEvery is the number of records between two checks of the context.
const contextEvery = 1 << 16

// fileStarts returns the index of the first record of each file, followed by the total
// number of records.
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
