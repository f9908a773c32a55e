package run

import (
	"millrace/graph/steps"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/loaders/spec"
)

// # Which record is a row?
//
// The question: records lose their names on their way through TensorFlow, and a batch is
// tensors of values. Whoever looks at a prediction wants to see the record it is of.
//
// What was tried: the native reader puts the place of each record behind its bytes, for
// errors. To take it along as a tensor would change every stage, with either engine, and
// the batches of a run would depend on whether somebody asks.
//
// The answer: the order of the rows follows from the config, so places are computed
// beside the pipeline, which knows nothing of it. Three numbers lead from a row to its
// record:
//
//	row         counts the rows that the run delivers, through all epochs
//	position    counts the records that the run reads: the same, and those left out
//	place       file and number of the record at that position: see [plan.Order]
//
//	row          0   1       2   3
//	position     0   1   2   3   4        record 2 is bad and left out
//	place       a0  a1  a2  b0  b1        files in order; shuffled, any others
//
// All bad records before a row are known when the row is there, and those behind it do
// not matter.

// places tells which records the rows of a pass are.
type places struct {
	files   []spec.DataFile
	order   *plan.Order
	begin   int64                 // position at which the rows begin to count
	passed  *quarantine.Positions // that were left out since
	inFiles *quarantine.FileOrder // where bad records are left out of files that are read in order; else nil
}

// newPlaces returns the places of the rows of a pass that began at a position.
func newPlaces(pl *Pipeline, begin int64) *places {
	l := &places{files: pl.Plan.Files, order: pl.Plan.RowOrder(pl.Scan), begin: begin, passed: pl.Passed}
	if pl.Quarantine != nil && !pl.Plan.Seeks() {
		l.inFiles = pl.Quarantine.InFileOrder(l.order.Before())
	}
	return l
}

// of returns the places of rows. The run has delivered them.
func (l *places) of(first, rows int64) ([]steps.RecordPlace, error) {
	list := make([]steps.RecordPlace, rows)
	position := l.position(first)
	for i := range list {
		if i > 0 {
			position = l.next(first+int64(i), position)
		}
		file, record := l.order.RecordAt(position)
		list[i] = steps.RecordPlace{File: l.files[file].Path, Record: record}
	}
	return list, nil
}

// position returns the position of a row.
func (l *places) position(row int64) int64 {
	if l.inFiles != nil {
		return l.inFiles.Position(row)
	}
	return l.passed.Behind(l.begin, row-l.begin)
}

// next returns the position of a row, given that of the row before it.
func (l *places) next(row, before int64) int64 {
	if l.inFiles != nil {
		return l.inFiles.Position(row)
	}
	return l.passed.From(before + 1)
}
