package tfbridge

// #include "capi.h"
import "C"

import (
	"fmt"

	"millrace"
)

// Code is a TensorFlow error code. It is an error itself, so that callers can
// write errors.Is(err, tfbridge.OutOfRange).
type Code int

// The codes, with TensorFlow's numbers.
const (
	OK                 Code = 0
	Cancelled          Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
	Unauthenticated    Code = 16
)

// codes holds the name of each code, and the default class of an error with that code.
// Callers that know the context, such as reading or loading a model, choose a better
// class.
var codes = [...]struct {
	name  string
	class millrace.Class
}{
	OK:                 {"ok", millrace.ErrInternal},
	Cancelled:          {"cancelled", millrace.ErrCanceled},
	Unknown:            {"unknown", millrace.ErrInternal},
	InvalidArgument:    {"invalid argument", millrace.ErrModel},
	DeadlineExceeded:   {"deadline exceeded", millrace.ErrCanceled},
	NotFound:           {"not found", millrace.ErrIO},
	AlreadyExists:      {"already exists", millrace.ErrModel},
	PermissionDenied:   {"permission denied", millrace.ErrIO},
	ResourceExhausted:  {"resource exhausted", millrace.ErrLimit},
	FailedPrecondition: {"failed precondition", millrace.ErrModel},
	Aborted:            {"aborted", millrace.ErrTransient},
	OutOfRange:         {"out of range", millrace.ErrTruncated},
	Unimplemented:      {"unimplemented", millrace.ErrModel},
	Internal:           {"internal", millrace.ErrInternal},
	Unavailable:        {"unavailable", millrace.ErrTransient},
	DataLoss:           {"data loss", millrace.ErrCorrupt},
	Unauthenticated:    {"unauthenticated", millrace.ErrIO},
}

// Error returns the code's name: "out of range".
func (c Code) Error() string {
	if c < 0 || int(c) >= len(codes) {
		return fmt.Sprintf("code %d", int(c))
	}
	return codes[c].name
}

// class returns the default class of an error with the code.
func (c Code) class() millrace.Class {
	if c < 0 || int(c) >= len(codes) {
		return millrace.ErrInternal
	}
	return codes[c].class
}

// Error is a failed call into TensorFlow. It reaches callers inside a
// *millrace.Error, which adds the class; errors.As finds either.
type Error struct {
	Func string // C function that failed: "TF_SessionRun"
	Code Code   // an error itself: errors.Is(err, tfbridge.OutOfRange)
	Msg  string // TensorFlow's own message; may contain bytes of records
}

// Error returns function, code and message, shortened, escaped and limited in length.
func (e *Error) Error() string {
	return e.Func + ": " + e.Code.Error() + ": " + printable(shorten(e.Msg))
}

// Unwrap makes errors.Is see the code.
func (e *Error) Unwrap() error { return e.Code }

// check makes one C call with a fresh status and converts its failure.
func check(fn string, call func(*C.TF_Status)) error {
	st := C.TF_NewStatus()
	defer C.TF_DeleteStatus(st)
	call(st)
	return statusError(fn, st)
}

// statusError converts a status; it is nil for success.
func statusError(fn string, st *C.TF_Status) error {
	code := Code(C.TF_GetCode(st))
	if code == OK {
		return nil
	}
	return Failure(fn, code, C.GoString(C.TF_Message(st)))
}

// Failure returns the error of a call that failed with a code and a message. The message may come
// from another process that ran a graph of this one.
func Failure(fn string, code Code, msg string) error {
	cause := &Error{Func: fn, Code: code, Msg: msg}
	if err := recall(cause.Msg); err != nil {
		return wrapGo(err, cause)
	}
	query, msg := cutFault(cause.Msg)
	cause.Msg = msg
	if err := placed(query, cause); err != nil {
		return err
	}
	return &millrace.Error{Class: code.class(), Record: -1, Offset: -1, Code: int(code), Err: cause}
}

// errClosed returns the error of a call on a closed value.
func errClosed(what string) error {
	return millrace.Errorf(millrace.ErrClosed, "%s is closed", what)
}

// errUnusable returns the error of a call on v, which is nil or closed. The zero value
// counts as closed.
func errUnusable[T any](what string, v *T) error {
	if v == nil {
		return millrace.Errorf(millrace.ErrClosed, "%s is nil", what)
	}
	return errClosed(what)
}
