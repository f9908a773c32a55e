package run

import "millrace"

// bucketedRows are rows of batches from buckets, which carry their positions.
type bucketedRows struct {
	next []int64 // positions of the next rows

	// The position of a record that tf.data shuffles in buffers is one in the shuffled
	// order. The numbers at these positions are read up to the greatest position that a
	// batch had, and kept as long as the record is in no batch.
	shuffled *shuffledRows // nil unless they are
	read     int64         // position of the next number
	numbers  map[int64]int64
}

// newBucketedRows returns the positions of the rows of a pass that begins with what
// buckets hold.
func newBucketedRows(pl *Pipeline, h *held) (*bucketedRows, error) {
	b := &bucketedRows{read: h.next}
	if pl.Plan.Shuffle == nil {
		return b, nil
	}
	if positions := h.sorted(); len(positions) > 0 {
		b.read = positions[0]
	}
	var err error
	b.numbers = map[int64]int64{}
	b.shuffled, err = newShuffledRows(pl, b.read)
	return b, err
}

// of ignores the row, which is the next one.
func (b *bucketedRows) of(int64) (int64, error) {
	if len(b.next) == 0 {
		return 0, millrace.Errorf(millrace.ErrInternal, "a row of a bucket has no position")
	}
	position := b.next[0]
	b.next = b.next[1:]
	if b.shuffled == nil {
		return position, nil
	}
	for ; b.read <= position; b.read++ {
		number, err := b.shuffled.of(b.read)
		if err != nil {
			return 0, err
		}
		b.numbers[b.read] = number
	}
	number := b.numbers[position]
	delete(b.numbers, position)
	return number, nil
}

func (b *bucketedRows) close() {
	if b.shuffled != nil {
		b.shuffled.close()
	}
}
