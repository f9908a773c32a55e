package stage

import (
	"millrace/loaders/engine"
	"millrace/loaders/scan"
)

// Data is what the number of examples of a run follows from.
type Data struct {
	engine.Choice
	Found   *scan.Scan
	Skipped int64 // bad records of each epoch that are known

	// Expect asks for a number to show to people who wait. It counts windows of one size as
	// well, a number that is not compared with the rows delivered.
	Expect bool
}

// Count is how many examples the stages so far give.
type Count struct {
	Elements int64 // records, windows or sequences: of an epoch, and after [Repeat] of a run
	Parts    int64 // epochs that share the elements, a part each; 1 = an epoch takes all
	Rows     int64 // examples of each element
}

// counter is a stage that changes the number of examples. It returns false where the
// number is not known before the data are read.
type counter interface {
	count(in Count, d Data) (out Count, known bool)
}

// Rows returns how many examples a list of stages gives in a whole run, and whether that
// is known before the data are read: what each stage makes of the number of the one before
// it.
func Rows(list []Stage, d Data) (rows int64, known bool) {
	var n Count
	for _, s := range list {
		c, ok := s.(counter)
		if !ok {
			continue
		}
		if n, known = c.count(n, d); !known {
			return 0, false
		}
	}
	return n.Elements * n.Rows, known
}
