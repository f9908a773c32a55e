// Package check finds bad records: records that the manifest or a stage of the config does
// not allow, and records that TensorFlow's parsers would not survive. It needs no
// TensorFlow.
//
//	if err := check.Record(s, data); err != nil {
//		return err // names the feature or the tensor, and no place
//	}
package check

import "millrace/loaders/engine"

// New returns the check that a record must pass before the operations of a plan see it. It
// returns nil if the operations survive any record and check it themselves. An error of
// the check does not name the record. Only one goroutine at a time may call the check.
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
