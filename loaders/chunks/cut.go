package chunks

// Cut says how a sequence is cut into rows: chunks, or the sequence as it is.
// The zero value makes one row of each sequence.
type Cut struct {
	Size     int64 // frames of a chunk; 0: a row is a whole sequence
	Step     int64 // frames from the start of a chunk to the start of the next
	DropTail bool  // leave out chunks shorter than Size
}

// Whole reports whether a row is a whole sequence.
func (c Cut) Whole() bool { return c.Size == 0 }

// Rows returns how many rows a sequence with a number of frames gives.
func (c Cut) Rows(length int64) int64 {
	switch {
	case c.Whole():
		return 1
	case c.DropTail && length < c.Size:
		return 0
	case c.DropTail:
		return (length-c.Size)/c.Step + 1
	}
	rows := length / c.Step
	if length%c.Step > 0 {
		rows++
	}
	return rows
}

// Row returns the frames of row k, from begin up to but without end.
func (c Cut) Row(k, length int64) (begin, end int64) {
	if c.Whole() {
		return 0, length
	}
	begin = k * c.Step
	return begin, begin + min(c.Size, length-begin)
}

// Budget says when a batch is full. Rows join a batch in their order until one
// does not fit: for every sequence, the longest row of the batch times the
// number of rows must be at most Frames. A row that does not fit an empty batch
// is a batch by itself.
type Budget struct {
	Frames  int64   // frames of a batch, padding included
	MaxSeqs int64   // most rows of a batch; 0: any number
	Fixed   []int64 // the fixed padded size of each sequence, -1: the longest of the batch
}

// Ends returns where the batches of some rows end: batch i has the rows from ends[i-1]
// up to but without ends[i]. The lengths are those of all rows, for each row one for
// every sequence. The rows after the last end are an incomplete batch, which later rows
// may join.
func (b Budget) Ends(lengths []int64) (ends []int64) {
	n := len(b.Fixed)
	longest := make([]int64, n)
	begin, rows := int64(0), int64(len(lengths)/n)
	for row := range rows {
		if row > begin && !b.fits(longest, lengths[row*int64(n):], row-begin+1) {
			ends = append(ends, row)
			begin = row
			clear(longest)
		}
		for i := range longest {
			longest[i] = max(longest[i], lengths[row*int64(n)+int64(i)])
		}
	}
	return ends
}

// fits reports whether a batch with this number of rows keeps the budget. longest has
// the longest rows of the batch without its last row.
func (b Budget) fits(longest, last []int64, rows int64) bool {
	if b.MaxSeqs > 0 && rows > b.MaxSeqs {
		return false
	}
	for i, fixed := range b.Fixed {
		if max(longest[i], last[i], fixed) > b.Frames/rows {
			return false
		}
	}
	return true
}
