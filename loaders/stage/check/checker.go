package check

import (
	"errors"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// Checker decides which records TensorFlow may parse, where Millrace's own operations,
// which survive any record, are not built: see [example.Checker]. Only one goroutine at
// a time may use it.
type Checker struct {
	spec    *spec.Spec
	parse   bool // Go parses every record: see refuseVariable
	records *example.Checker
}

// NewChecker returns a Checker of the plan's records.
func NewChecker(s *spec.Spec) *Checker {
	j := &Checker{spec: s, parse: variableExamples(s)}
	request := example.Request{Sequence: s.Manifest.AllowVarLen, Whole: j.parse}
	for _, f := range s.Features {
		floats := int64(example.AnyNumber)
		if !f.VarLen {
			floats = spec.NumElements(f.StoredShape())
		}
		request.Features = append(request.Features, example.Requested{Key: f.Name, Kind: listKind(f), Floats: floats})
	}
	j.records = example.NewChecker(request)
	return j
}

// Check returns an error if TensorFlow must not parse a record. It leaves other
// faults to TensorFlow. The error has no place.
func (j *Checker) Check(record []byte) error {
	if err := j.records.Check(record); err != nil {
		return j.describe(err)
	}
	if !j.parse {
		return nil
	}
	for _, f := range j.spec.Features {
		if !f.VarLen {
			continue
		}
		if err := refuseVariable(f, j.records); err != nil {
			return err
		}
	}
	return nil
}

// describe words an error about the number of values as every check of a plan does.
func (j *Checker) describe(err error) error {
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrSchema {
		return err
	}
	for _, f := range j.spec.Features {
		if f.Name != e.Feature {
			continue
		}
		raw, failed := j.records.Raw(f.Name)
		if worded := checkList(f, raw); failed == nil && worded != nil {
			return inFeature(worded, f, "")
		}
	}
	return err
}
