package quarantine

import (
	"slices"
	"sync"
)

// Positions holds the positions of the left-out records in the order in which a run
// reads its records. Where record 3 is left out, row 3 is the record at position 4:
//
//	position  0  1  2  3  4  5
//	row       0  1  2     3  4
//
// The zero value is empty. Methods may be called concurrently.
type Positions struct {
	mu  sync.Mutex
	all []int64 // ascending
}

// Add adds a position.
func (p *Positions) Add(position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := slices.BinarySearch(p.all, position); !known {
		p.all = slices.Insert(p.all, at, position)
	}
}

// Clear removes all positions.
func (p *Positions) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = p.all[:0]
}

// Behind returns the position after a number of rows that were read from a position on,
// and after the records known to be left out there.
func (p *Positions) Behind(begin, rows int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := slices.BinarySearch(p.all, begin)
	end := begin + rows
	for ; at < len(p.all) && p.all[at] <= end; at++ {
		end++
	}
	return end
}

// From returns the first position, beginning with the given one, that was not left out.
func (p *Positions) From(position int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := slices.BinarySearch(p.all, position)
	for ; at < len(p.all) && p.all[at] == position; at++ {
		position++
	}
	return position
}
