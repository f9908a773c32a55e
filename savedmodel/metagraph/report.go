package metagraph

import (
	"errors"
	"path/filepath"

	"millrace"
	"millrace/savedmodel/message"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// There are three kinds of problems. A model that is damaged or that TensorFlow cannot
// load is an error. So is a model that the policy refuses, unless Options.Unchecked is
// set: then the refusal is recorded, and reading continues. Anything that is merely odd
// is a warning.

// Report collects the problems of a model while it is read.
type Report struct {
	File      string // the protobuf: saved_model.pb or saved_model.pbtxt
	Kind      string // expected content of File: "SavedModel" or "GraphDef"
	Unchecked bool   // Options.Unchecked: record refusals of the policy, and continue

	Warnings []error
	Refused  []error // recorded refusals, if Unchecked is set
}

// Fail returns an error about the protobuf of the model.
func (r *Report) Fail(format string, args ...any) *millrace.Error {
	return modelfile.Fail(r.File, format, args...)
}

// Limit returns an error about a size that is over a limit.
func (r *Report) Limit(format string, args ...any) error {
	e := r.Fail(format, args...)
	e.Err = millrace.ErrLimit
	return e
}

// Unsafe returns an error of class ErrUnsafeModel about the protobuf.
func (r *Report) Unsafe(format string, args ...any) *millrace.Error {
	e := r.Fail(format, args...)
	e.Class = millrace.ErrUnsafeModel
	return e
}

// FailTensor returns an error about a tensor of a signature.
func (r *Report) FailTensor(s *sigdef.Signature, t *sigdef.Tensor, format string, args ...any) error {
	e := r.Fail(format, args...)
	e.Signature, e.Tensor = s.Name, t.Name
	return e
}

// Damaged converts a fault of a protobuf to an error with its file and offset.
func (r *Report) Damaged(err error) error {
	var w *message.Error
	if !errors.As(err, &w) {
		return err
	}
	if w.Cut {
		return r.cutOff(filepath.Base(r.File), w)
	}
	e := r.Fail("not a %s: in %s: %s", r.Kind, w.Message, w.What)
	e.Err, e.Offset = millrace.ErrCorrupt, w.Offset
	return e
}

// cutOff is the error for a protobuf that ends too early.
func (r *Report) cutOff(name string, w *message.Error) error {
	e := r.Fail("%s ends too early or is damaged: in %s: %s", name, w.Message, w.What)
	e.Err, e.Offset = millrace.ErrTruncated, w.Offset
	return e
}

// Warn records an oddity that does not prevent using the model.
func (r *Report) Warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, r.Fail(format, args...))
}

// Tolerate returns nil for a refusal by the policy if Unchecked is set, and
// records it. It returns all other errors.
func (r *Report) Tolerate(err error) error {
	if r.Unchecked && errors.Is(err, millrace.ErrUnsafeModel) {
		r.Refused = append(r.Refused, err)
		return nil
	}
	return err
}

// TolerateAny does the same for every error.
func (r *Report) TolerateAny(err error) error {
	if err != nil && r.Unchecked {
		r.Refused = append(r.Refused, err)
		return nil
	}
	return err
}
