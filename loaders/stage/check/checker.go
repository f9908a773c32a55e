package check

import (
	"errors"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// Checker decides which records TensorFlow may parse. Pipelines with Millrace's native
// operations do not need it, because these survive any record: see [example.Checker]. Only
// one goroutine at a time may use a Checker.
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

// Check returns an error if TensorFlow must not parse a record. TensorFlow finds other
// faults itself. The error does not name the record.
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

// describe formats an error about the number of values like every check of a plan.
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

// TensorFlow's parser of VarLen features trusts a record twice. It allocates memory for
// the number of floats that a packed list claims, up to 4 GiB, before it checks that they
// are there. And it accepts a record that lacks the feature, whatever the manifest says.
// Millrace's native operations do neither. Where TensorFlow's parser runs, Go parses each
// record in full first.

// variableExamples reports whether records are Examples with VarLen features.
func variableExamples(s *spec.Spec) bool { return !s.Manifest.AllowVarLen && s.HasLists() }

// refuseVariable returns an error if TensorFlow must not parse a VarLen feature
// of an Example.
func refuseVariable(f *spec.Feature, records *example.Checker) error {
	raw, err := records.Raw(f.Name)
	if err == nil && raw.Kind() == example.None && !f.Optional {
		err = millrace.Errorf(millrace.ErrSchema, "the record has no such feature")
	}
	return inFeature(err, f, "")
}
