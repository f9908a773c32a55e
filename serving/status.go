package serving

import (
	"context"
	"errors"

	"millrace"
	"millrace/tfbridge"
)

// State is the state of a version. The numbers equal TensorFlow Serving's
// ModelVersionStatus.
type State int

// The states of a version.
const (
	Start     State = 10 // the version is to be loaded
	Loading   State = 20
	Available State = 30 // takes requests
	Unloading State = 40 // ends when its last request is done
	End       State = 50 // was unloaded, or failed to load
)

// String returns TensorFlow Serving's name of a state.
func (s State) String() string {
	switch s {
	case Start:
		return "START"
	case Loading:
		return "LOADING"
	case Available:
		return "AVAILABLE"
	case Unloading:
		return "UNLOADING"
	case End:
		return "END"
	}
	return "UNKNOWN"
}

// VersionStatus is the state of a version, and its error.
type VersionStatus struct {
	Version int64
	State   State
	Err     error // may be nil
}

// CodeOf returns the status code of an error, as gRPC and TensorFlow number them:
// OK for nil.
func CodeOf(err error) tfbridge.Code {
	var known *millrace.Error
	switch {
	case err == nil:
		return tfbridge.OK
	case errors.Is(err, context.DeadlineExceeded):
		return tfbridge.DeadlineExceeded
	case errors.As(err, &known) && known.Code != 0:
		return tfbridge.Code(known.Code)
	}
	for _, c := range codes {
		if errors.Is(err, c.class) {
			return c.code
		}
	}
	return tfbridge.Internal
}

// codes are the status codes of the classes of failure.
var codes = []struct {
	class millrace.Class
	code  tfbridge.Code
}{
	{millrace.ErrOverloaded, tfbridge.Unavailable},
	{millrace.ErrClosed, tfbridge.Unavailable},
	{millrace.ErrTransient, tfbridge.Unavailable},
	{millrace.ErrCanceled, tfbridge.Cancelled},
	{millrace.ErrLimit, tfbridge.ResourceExhausted},
	{millrace.ErrModel, tfbridge.InvalidArgument},
	{millrace.ErrSchema, tfbridge.InvalidArgument},
	{millrace.ErrConfig, tfbridge.InvalidArgument},
	{millrace.ErrUnsafeModel, tfbridge.FailedPrecondition},
	{millrace.ErrCorrupt, tfbridge.DataLoss},
	{millrace.ErrTruncated, tfbridge.DataLoss},
}

// errorf returns an error of class ErrModel with a status code.
func errorf(code tfbridge.Code, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrModel, format, args...)
	e.Code = int(code)
	return e
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return errorf(tfbridge.InvalidArgument, format, args...)
}
