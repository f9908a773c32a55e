package run

import (
	"slices"

	"millrace/graph/steps"
	"millrace/loaders/quarantine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/order"
)

// # Which record is a row?
//
// The question: records lose their names on their way through TensorFlow, and a batch
// is tensors of values. A user who looks at a prediction wants to see its record.
//
// What was tried: the native reader puts the place of each record behind its bytes, for
// errors. To take it along as a tensor would change every stage, with either engine,
// and the batches of a run would depend on whether places are requested.
//
// The answer: the order of the rows follows from the config, so places are computed
// separately, and the pipeline does not change. Three numbers lead from a row to its
// record:
//
//	row         counts the rows that the run delivers, through all epochs
//	position    counts the records that the run reads: the same, and those left out
//	place       file and number of the record at that position: see [order.Order]
//
//	row          0   1       2   3
//	position     0   1   2   3   4        record 2 is bad and left out
//	place       a0  a1  a2  b0  b1        files in order; shuffled, any others
//
// All bad records before a row are known when the row is there, and those behind it do
// not matter. Buckets change the order, but a batch of theirs has the positions of its rows,
// for states: see [held]. Where tf.data shuffles in buffers, a second dataset shuffles the numbers of
// the examples in the same way, and yields the number of each row: see [build.Numbers].

// places computes the records of the rows of a pass.
type places struct {
	files []spec.DataFile
	order *order.Order
	rows  rowPositions
}

// rowPositions computes the positions of rows in the order. It is called for one row
// after the other, each of which the run has delivered.
type rowPositions interface {
	of(row int64) (position int64, err error)
	close()
}

// newPlaces returns the places of the rows of a pass that began at a position, and
// whose next row is the given one. at is what is pending there; it is nil where batches carry
// no positions.
func newPlaces(pl *Pipeline, begin, row int64, at pending) (*places, error) {
	l := &places{files: pl.Plan.Files, order: order.OfRows(pl.Plan.Spec, pl.Scan)}
	h, _ := at.(*held)
	switch {
	case at != nil && h == nil:
		l.rows = &bucketedRows{}
	case pl.Plan.Shuffle != nil && h == nil:
		shuffled, err := newShuffledRows(pl, row)
		if err != nil {
			return nil, err
		}
		l.rows = shuffled
	case h != nil:
		bucketed, err := newBucketedRows(pl, h)
		if err != nil {
			return nil, err
		}
		l.rows = bucketed
	case pl.Quarantine != nil && !pl.Plan.Engine().Seeks():
		l.rows = rowsOfFiles{pl.Quarantine.InFileOrder(l.order.Before())}
	default:
		l.rows = &rowsInOrder{passed: pl.Passed, begin: begin, last: -1}
	}
	if pl.Plan.Filters() {
		l.rows = &filteredRows{examples: l.rows, first: row, next: row}
	}
	return l, nil
}

// take receives the positions of the next rows, where they have buckets. l may be nil.
func (l *places) take(positions []int64) {
	if l == nil {
		return
	}
	switch rows := l.rows.(type) {
	case *bucketedRows:
		rows.next = slices.Clone(positions)
	case *filteredRows:
		rows.numbers = append(rows.numbers, positions...)
	}
}

// filteredRows are rows that filters keep. They have the numbers of their examples, counted
// from the first one that the run sees.
type filteredRows struct {
	examples rowPositions
	first    int64   // the example that the numbers count from
	next     int64   // the example that examples yields next
	numbers  []int64 // numbers of the next rows
}

// of ignores the row, which is the next one.
func (r *filteredRows) of(int64) (position int64, err error) {
	example := r.first + r.numbers[0]
	r.numbers = r.numbers[1:]
	for ; r.next <= example; r.next++ {
		if position, err = r.examples.of(r.next); err != nil {
			return 0, err
		}
	}
	return position, nil
}

func (r *filteredRows) close() { r.examples.close() }

// of returns the places of rows.
func (l *places) of(first, rows int64) ([]steps.RecordPlace, error) {
	list := make([]steps.RecordPlace, rows)
	for i := range list {
		position, err := l.rows.of(first + int64(i))
		if err != nil {
			return nil, err
		}
		at := l.order.RecordAt(position)
		list[i] = steps.RecordPlace{File: l.files[at.File].Path, Record: at.Record}
	}
	return list, nil
}

// close frees the resources for positions. l may be nil.
func (l *places) close() {
	if l != nil {
		l.rows.close()
	}
}

// rowsInOrder are rows with consecutive positions, except for records that are left
// out.
type rowsInOrder struct {
	passed *quarantine.Positions
	begin  int64 // position at which the rows begin to count

	last, at int64 // the last row, and its position; -1: none
}

func (r *rowsInOrder) of(row int64) (int64, error) {
	if r.last >= 0 && row == r.last+1 {
		r.at = r.passed.From(r.at + 1)
	} else {
		r.at = r.passed.Behind(r.begin, row-r.begin)
	}
	r.last = row
	return r.at, nil
}

func (r *rowsInOrder) close() {}

// rowsOfFiles are the good records of files that are read in order.
type rowsOfFiles struct{ *quarantine.FileOrder }

func (r rowsOfFiles) of(row int64) (int64, error) { return r.Position(row), nil }

func (r rowsOfFiles) close() {}
