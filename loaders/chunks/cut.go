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
