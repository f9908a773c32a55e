package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// The code of a failure decides its class, whatever its message is.
func TestCodeClass(t *testing.T) {
	tests := []struct {
		code   tfbridge.Code
		remote bool
		want   millrace.Class
	}{
		{tfbridge.Cancelled, false, millrace.ErrCanceled},
		{tfbridge.Unknown, false, millrace.ErrIO},
		{tfbridge.InvalidArgument, false, millrace.ErrSchema},
		{tfbridge.DeadlineExceeded, false, millrace.ErrCanceled},
		{tfbridge.NotFound, false, millrace.ErrIO},
		{tfbridge.PermissionDenied, false, millrace.ErrIO},
		{tfbridge.ResourceExhausted, false, millrace.ErrLimit},
		{tfbridge.FailedPrecondition, false, millrace.ErrTruncated},
		{tfbridge.FailedPrecondition, true, millrace.ErrIO},
		{tfbridge.OutOfRange, false, millrace.ErrTruncated},
		{tfbridge.Unimplemented, false, millrace.ErrConfig},
		{tfbridge.Internal, false, millrace.ErrInternal},
		{tfbridge.Unavailable, false, millrace.ErrIO},
		{tfbridge.DataLoss, false, millrace.ErrCorrupt},
		{tfbridge.Unauthenticated, false, millrace.ErrInternal},
	}
	for _, tt := range tests {
		failed := &tfbridge.Error{Func: "TF_SessionRun", Code: tt.code, Msg: "Too many open files"}
		if got := codeClass(failed, tt.remote); got != tt.want {
			t.Errorf("codeClass(%v, %v) = %q, want %q", tt.code, tt.remote, got, tt.want)
		}
	}
}

// These codes, and no others, may have a bad record as their cause.
func TestDataFaults(t *testing.T) {
	for code, want := range map[tfbridge.Code]bool{
		tfbridge.InvalidArgument: true, tfbridge.DataLoss: true, tfbridge.FailedPrecondition: true,
		tfbridge.OutOfRange: false, tfbridge.Internal: false, tfbridge.Cancelled: false, tfbridge.NotFound: false,
	} {
		if got := dataFault(&tfbridge.Error{Code: code}); got != want {
			t.Errorf("%v: %v", code, got)
		}
	}
}

// The error for examples that differ in shape names the tensor, if TensorFlow says
// which it is.
func TestRaggedBatches(t *testing.T) {
	p := plan.New(&spec.Spec{Path: "loader.json", Tensors: []spec.TensorSpec{{Name: "a"}, {Name: "b"}}}, nil)
	pl := &Pipeline{Parts: &build.Parts{Plan: p}}
	message := func(component int) *tfbridge.Error {
		return &tfbridge.Error{Code: tfbridge.InvalidArgument, Msg: fmt.Sprintf(
			"Cannot batch tensors with different shapes in component %d. First element had shape [3] and element 1 had shape [4].", component)}
	}
	for component, tensor := range []string{"a", "b"} {
		var e *millrace.Error
		if err := pl.ragged(message(component)); !errors.As(err, &e) || e.Tensor != tensor || e.Loader != "loader.json" || e.Class != millrace.ErrSchema ||
			e.Code != int(tfbridge.InvalidArgument) || !strings.Contains(e.Msg, "[3] and [4]") {
			t.Errorf("component %d: %v", component, err)
		}
	}
	for _, failed := range []*tfbridge.Error{message(2), {Msg: "something else"}, {Msg: strings.Replace(message(1).Msg, "component 1", "component 99999999999999999999", 1)}} {
		if err := pl.ragged(failed); err != nil {
			t.Errorf("%v: %v", failed, err)
		}
	}
}

// The error for a failure among remote files names the only one, or gives their number.
func TestSuspects(t *testing.T) {
	files := []spec.DataFile{{Path: "/local"}, {Path: "gs://a", Remote: true}, {Path: "gs://b", Remote: true}}
	for n, want := range map[int]string{1: " ", 2: "gs://a ", 3: " (in one of 2 remote files, the first is gs://a)"} {
		e := &millrace.Error{}
		suspect(remoteFiles(plan.New(&spec.Spec{Files: files[:n]}, nil)), e)
		if got := e.File + " " + strings.TrimPrefix(e.Msg, " "); got != want {
			t.Errorf("%d files: got %q, want %q", n, got, want)
		}
	}
}
