package run

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// A worker with other operations, or other files, is refused, and so is a service that does not
// know our operations.
func TestServiceReports(t *testing.T) {
	p := &plan.Plan{Spec: &spec.Spec{Path: "loader.json", Service: &spec.Service{Address: "disp:5050"}}, NativeLibrary: "/x/ops.so"}
	pl := &Pipeline{Parts: &build.Parts{Plan: p, ServiceAddress: "disp:5050"}}
	if err := pl.compareReport([]string{"a, process 1", "ops.so", ""}); err != nil {
		t.Error(err)
	}
	notFound := &tfbridge.Error{Func: "TF_SessionRun", Code: tfbridge.NotFound, Msg: "Op type not registered 'MillraceServiceReport'"}
	unavailable := &tfbridge.Error{Func: "TF_SessionRun", Code: tfbridge.Unavailable, Msg: "gone"}
	tests := map[string]struct {
		err   error
		class error
	}{
		`the worker on a, process 1 has the operations other.so, and this process ops.so`: {pl.compareReport([]string{"a, process 1", "other.so", ""}), millrace.ErrRuntime},
		"does not see the data as this process does: /data/x: No such file":               {pl.compareReport([]string{"a, process 1", "ops.so", "/data/x: No such file"}), millrace.ErrIO},
		"cannot run Millrace's operations":                                                {pl.serviceError(notFound), millrace.ErrRuntime},
		"the data service at disp:5050: TF_SessionRun":                                    {pl.serviceError(unavailable), millrace.ErrIO},
		"no workers": {pl.serviceError(millrace.Errorf(millrace.ErrIO, "no workers")), millrace.ErrIO},
	}
	for want, got := range tests {
		if !errors.Is(got.err, got.class) || !strings.Contains(got.err.Error(), want) || !strings.Contains(got.err.Error(), "loader.json") {
			t.Errorf("got %v, want %v with %q", got.err, got.class, want)
		}
	}
}
