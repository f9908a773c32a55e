package mixing

import "fmt"

// Range is the lowest and the highest share of a file in a batch.
type Range struct {
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
}

// shares measures the share of each file in each batch.
type shares struct {
	starts  []int64
	records []int64 // number of records of each file in the epoch
	total   int64
	size    int64 // size of a batch
	batches int64
}

// newShares returns the measure for orders of the same records. A last batch that is
// smaller than the others does not count, because its shares are further from those of
// the epoch in any order. If it is the only one, it counts.
func newShares(starts, order []int64, batchSize int64) *shares {
	s := &shares{starts: starts, records: make([]int64, len(starts)-1), total: int64(len(order))}
	s.size = min(batchSize, s.total)
	s.batches = s.total / s.size
	for _, number := range order {
		s.records[fileOf(starts, number)]++
	}
	return s
}

// share returns the share of a file in the epoch.
func (s *shares) share(file int) float64 { return float64(s.records[file]) / float64(s.total) }

// measure returns the mean distance of the batches' shares from those of the epoch, and
// for each file the lowest and the highest share.
func (s *shares) measure(order []int64) (distance float64, ranges []Range) {
	ranges = make([]Range, len(s.records))
	counts := make([]int64, len(s.records)) // counts of the batch
	batchesOf := make([]int64, len(s.records))
	for b := range s.batches {
		var files []int
		for _, number := range order[b*s.size : (b+1)*s.size] {
			f := fileOf(s.starts, number)
			if counts[f] == 0 {
				files = append(files, f)
			}
			counts[f]++
		}
		for _, f := range files {
			share := float64(counts[f]) / float64(s.size)
			distance += max(share-s.share(f), 0) // every surplus is a deficit elsewhere
			ranges[f].add(share, batchesOf[f] == 0)
			batchesOf[f]++
			counts[f] = 0
		}
	}
	for f := range ranges {
		if batchesOf[f] < s.batches {
			ranges[f].Lowest = 0 // a batch has none of it
		}
	}
	return distance / float64(s.batches), ranges
}

// add widens the range to a share.
func (r *Range) add(share float64, first bool) {
	if first || share < r.Lowest {
		r.Lowest = share
	}
	r.Highest = max(r.Highest, share)
}

// String returns the range in percent.
func (r Range) String() string { return fmt.Sprintf("%.1f-%.1f%%", 100*r.Lowest, 100*r.Highest) }
