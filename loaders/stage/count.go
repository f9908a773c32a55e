package stage

import (
	"millrace/loaders/engine"
	"millrace/loaders/scan"
)

// Data is the input for counting the examples of a run.
type Data struct {
	engine.Choice
	Found   *scan.Scan
	Skipped int64 // bad records of each epoch that are known

	// Expect asks for a number to show to people who wait. It also counts windows of one size.
	// That number is an estimate: a run does not compare it with the rows delivered.
	Expect bool
}

// Count is the number of examples after the stages so far.
type Count struct {
	Elements int64 // records, windows or sequences: of an epoch, and after [Repeat] of a run
	Parts    int64 // number of epochs that divide the elements among them; 1 = an epoch takes all
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
