package check

import (
	"errors"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// Judge decides which records TensorFlow may parse, where Millrace's own operations,
// which survive any record, are not built: see [example.Judge]. Only one goroutine at
// a time may use it.
type Judge struct {
	spec    *spec.Spec
	parse   bool // Go parses every record: see refuseVariable
	records *example.Judge
}

// NewJudge returns a Judge of the plan's records.
func NewJudge(s *spec.Spec) *Judge {
	j := &Judge{spec: s, parse: variableExamples(s)}
	request := example.Request{Sequence: s.Manifest.AllowVarLen, Whole: j.parse}
	for _, f := range s.Features {
		floats := int64(example.AnyNumber)
		if !f.VarLen {
			floats = spec.NumElements(f.StoredShape())
		}
		request.Features = append(request.Features, example.Requested{Key: f.Name, Kind: listKind(f), Floats: floats})
	}
	j.records = example.NewJudge(request)
	return j
}

// Check returns an error if TensorFlow must not parse a record. It leaves other
// faults to TensorFlow. The error has no place.
func (j *Judge) Check(record []byte) error {
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
func (j *Judge) describe(err error) error {
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
