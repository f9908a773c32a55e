package pipeline

import (
	"errors"

	"millrace"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
)

// Check checks the records of a request before TensorFlow gets them.
//
// An error refuses the request: without Millrace's own operations TensorFlow's parsers
// would read records that may end the process. A doubt is an error too, but one of Go's
// parser, which is stricter than the operations. A request with a doubt runs, but not
// in a batch with others, because it might fail them; if it fails, the doubt explains
// the failure better than TensorFlow's error.
func (p *Pipeline) Check(records []string) (doubt, err error) {
	checker := check.NewChecker(p.Plan.Spec)
	for i, r := range records {
		record := []byte(r)
		if !p.Plan.Engine().Own {
			if err := checker.Check(record); err != nil {
				return nil, exampleError(i, err)
			}
		}
		if doubt == nil {
			if err := check.Record(p.Plan.Spec, record); err != nil {
				doubt = exampleError(i, err)
			}
		}
	}
	return doubt, nil
}

// exampleError returns an error about a record of a request.
func exampleError(i int, err error) error {
	e := millrace.Errorf(millrace.ErrModel, "example %d: %w", i, err)
	e.Code = int(tfbridge.InvalidArgument)
	return e
}

// Joinable reports whether requests may share batches: each record has one shape of
// every tensor, or is padded to one. If padded is set, tensors that are padded to the
// longest of a batch are joinable, too, as with
// [batching.Options.PadVariableLengthInputs].
func (p *Pipeline) Joinable(padded bool) bool {
	for i, t := range p.Plan.Tensors {
		for axis, n := range t.Shape {
			fixed := n >= 0
			if p.Plan.Padding != nil {
				fixed = padded || p.Plan.Padding[i].Shape[axis] >= 0 || fixed
			}
			if !fixed {
				return false
			}
		}
	}
	return true
}

// Explain returns the error of the records that explains a failed run, or the failure
// itself.
func (p *Pipeline) Explain(err error) error {
	var failed *tfbridge.Error
	if !errors.As(err, &failed) {
		return err
	}
	if e := p.processing.FailedAssertion(failed); e != nil {
		return e
	}
	return err
}
