package savedmodel

import (
	"errors"
	"path/filepath"

	"millrace"
)

// What is wrong with a model is one of three things here. A model that is damaged
// or that TensorFlow cannot load is an error. So is one that the policy refuses,
// unless Options.Unchecked is set: then the refusal is recorded, and reading continues.
// What is merely odd is a warning.

// report collects what is wrong with a model as it is read.
type report struct {
	file      string // the protobuf: saved_model.pb or saved_model.pbtxt
	kind      string // what file should hold: "SavedModel" or "GraphDef"
	unchecked bool   // Options.Unchecked: record what the policy refuses, and continue

	warnings []error
	refused  []error // by the policy, if unchecked is set
}

// fail returns an error about the protobuf of the model.
func (r *report) fail(format string, args ...any) *millrace.Error {
	return failAt(r.file, format, args...)
}

// limit returns an error about a size that is over a limit.
func (r *report) limit(format string, args ...any) error {
	e := r.fail(format, args...)
	e.Err = millrace.ErrLimit
	return e
}

// unsafe returns an error of class ErrUnsafeModel about the protobuf.
func (r *report) unsafe(format string, args ...any) *millrace.Error {
	e := r.fail(format, args...)
	e.Class = millrace.ErrUnsafeModel
	return e
}

// failTensor returns an error about a tensor of a signature; what is "input" or
// "output".
func (r *report) failTensor(s *Signature, what string, t *Tensor, format string, args ...any) error {
	e := r.fail("%s: "+format, append([]any{what}, args...)...)
	e.Signature, e.Tensor = s.Name, t.Name
	return e
}

// wireError turns what is wrong with a protobuf into an error with its place.
func (r *report) wireError(err error) error {
	var w *wireError
	if !errors.As(err, &w) {
		return err
	}
	if w.cut {
		return r.cutOff(filepath.Base(r.file), w)
	}
	e := r.fail("not a %s: in %s: %s", r.kind, w.message, w.what)
	e.Err, e.Offset = millrace.ErrCorrupt, w.offset
	return e
}

// cutOff is the error for a protobuf that ends too early.
func (r *report) cutOff(name string, w *wireError) error {
	e := r.fail("%s ends too early or is damaged: in %s: %s", name, w.message, w.what)
	e.Err, e.Offset = millrace.ErrTruncated, w.offset
	return e
}

// warn notes something odd that keeps nobody from using the model.
func (r *report) warn(format string, args ...any) {
	r.warnings = append(r.warnings, r.fail(format, args...))
}

// tolerate returns nil for a refusal by the policy if unchecked is set,
// and notes it. It returns all other errors.
func (r *report) tolerate(err error) error {
	if r.unchecked && errors.Is(err, millrace.ErrUnsafeModel) {
		r.refused = append(r.refused, err)
		return nil
	}
	return err
}

// tolerateAny does the same for every error.
func (r *report) tolerateAny(err error) error {
	if err != nil && r.unchecked {
		r.refused = append(r.refused, err)
		return nil
	}
	return err
}
