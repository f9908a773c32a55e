// Package check says which records are bad: by what the manifest and the stages of a config
// take, and by what TensorFlow's parsers survive. It needs no TensorFlow.
//
//	if err := check.Record(s, data); err != nil {
//		return err // names the feature or the tensor, and no place
//	}
package check

import "millrace/loaders/engine"

// New returns the check that a record must pass before the operations of a plan see it,
// nil if they survive any record and check it themselves. The error has no place. Only one
// goroutine at a time may call the check.
func New(c engine.Choice) func(record []byte) error {
	whole := func(record []byte) error { return Record(c.Spec, record) }
	switch {
	case c.Own && !c.ChecksRecords():
		return nil
	case c.Own && c.BadRecords == nil:
		return whole
	case !c.ChecksRecords():
		return NewChecker(c.Spec).Check
	}
	checker := NewChecker(c.Spec)
	return func(record []byte) error {
		if err := checker.Check(record); err != nil {
			return err
		}
		return whole(record)
	}
}
