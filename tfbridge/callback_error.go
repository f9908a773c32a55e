//go:build cgo

package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"millrace"
)

// A Go function's error passes through TensorFlow as a code and a text. We append a
// mark with a random key to the text, and remember the error under that key. The error
// of the failed run then wraps the Go error itself, so that errors.Is and errors.As
// work across TensorFlow. Operations in between may change the text around the mark.
const (
	markBegin = "[go error "
	markEnd   = "]"
)

// maxRemembered is the number of remembered errors. TensorFlow may drop an error
// without a notification, so old ones are forgotten.
const maxRemembered = 256

// remembered holds the latest errors of Go functions.
var remembered struct {
	sync.Mutex
	errs  map[string]error
	order []string
}

// remember keeps an error, and returns the code and the message for TensorFlow.
func remember(err error) (Code, string) {
	if errors.Is(err, OutOfRange) {
		err = &opaque{err} // the end of the function's data is not the end of the dataset
	}
	// A random number: data that happens to look like a mark must not match an error.
	key := strconv.FormatUint(rand.Uint64(), 16)
	remembered.Lock()
	defer remembered.Unlock()
	if remembered.errs == nil {
		remembered.errs = map[string]error{}
	}
	if len(remembered.order) == maxRemembered {
		delete(remembered.errs, remembered.order[0])
		remembered.order = remembered.order[1:]
	}
	remembered.errs[key] = err
	remembered.order = append(remembered.order, key)
	return codeOf(classOf(err)), strings.ReplaceAll(err.Error(), "\x00", " ") + " " + markBegin + key + markEnd
}

// recall returns the Go error whose mark is in a message of TensorFlow, or nil.
func recall(msg string) error {
	for {
		_, rest, ok := strings.Cut(msg, markBegin)
		if !ok {
			return nil
		}
		key, _, _ := strings.Cut(rest, markEnd)
		remembered.Lock()
		err := remembered.errs[key]
		remembered.Unlock()
		if err != nil {
			return err
		}
		msg = rest
	}
}

// wrapGo returns the error of a run that failed with a Go function's error.
func wrapGo(err error, cause *Error) error {
	both := &goFailure{err: err, cause: cause}
	var own *millrace.Error
	if e, ok := err.(*millrace.Error); ok {
		copied := *e
		own = &copied
		if own.Msg == "" && own.Err != nil {
			own.Msg = own.Err.Error()
		}
	} else {
		own = &millrace.Error{Class: classOf(err), Record: -1, Offset: -1, Msg: err.Error()}
	}
	own.Code, own.Err = int(cause.Code), both
	return own
}

// goFailure wraps the errors of a Go function and of the run that it failed.
type goFailure struct {
	err   error
	cause *Error
}

func (f *goFailure) Error() string   { return f.err.Error() }
func (f *goFailure) Unwrap() []error { return []error{f.err, f.cause} }

// opaque hides the errors that an error wraps, but keeps its class.
type opaque struct{ err error }

func (o *opaque) Error() string { return o.err.Error() }
func (o *opaque) Unwrap() error { return classOf(o.err) }

// classOf returns the class of a Go function's error. An error without a class counts
// as a failure of the function's data source.
func classOf(err error) millrace.Class {
	var own *millrace.Error
	if errors.As(err, &own) {
		return own.Class
	}
	var class millrace.Class
	if errors.As(err, &class) {
		return class
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return millrace.ErrCanceled
	case errors.Is(err, io.ErrUnexpectedEOF):
		return millrace.ErrTruncated
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return millrace.ErrTransient
	}
	return millrace.ErrIO
}

// ClassifyError returns err as a *millrace.Error of the class that a run reports
// if a Go function returns err. It is the class of err if it has one; otherwise
// a class for errors of the standard library, and millrace.ErrIO for the rest.
func ClassifyError(err error) *millrace.Error {
	return &millrace.Error{Class: classOf(err), Record: -1, Offset: -1, Msg: fmt.Sprint(err), Err: err}
}

// codeOf returns TensorFlow's code for a class. It never returns OutOfRange,
// which ends datasets.
func codeOf(c millrace.Class) Code {
	switch c {
	case millrace.ErrConfig, millrace.ErrSchema, millrace.ErrModel, millrace.ErrUnsafeModel:
		return InvalidArgument
	case millrace.ErrCorrupt, millrace.ErrTruncated, millrace.ErrCheckpoint:
		return DataLoss
	case millrace.ErrLimit:
		return ResourceExhausted
	case millrace.ErrTransient:
		return Unavailable
	case millrace.ErrCanceled:
		return Cancelled
	case millrace.ErrClosed:
		return FailedPrecondition
	case millrace.ErrInternal:
		return Internal
	}
	return Unknown
}
