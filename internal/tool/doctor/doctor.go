// Package doctor finds out why TensorFlow does not run on a machine, or does
// not run well.
//
//	for f := range doctor.Examine(ctx, &doctor.Options{Runtime: o, Probe: probe}) {
//		fmt.Println(f.State, f.Check, f.Detail, f.Remedy)
//	}
package doctor

import (
	"context"
	"fmt"
	"iter"
	"os/exec"
	"strings"

	"millrace/internal/base/terminal"
	"millrace/internal/tool/install"
	"millrace/tfbridge"
)

// State is the outcome of a check.
type State string

// The states of a check.
const (
	OK   State = "ok"
	Warn State = "warn" // TensorFlow works, but slower or with less
	Fail State = "fail"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Detail string `json:"detail"`           // one line
	Remedy string `json:"remedy,omitempty"` // what to do
}

// Options are the options of [Examine].
type Options struct {
	// Runtime chooses the runtime. Examine ignores its field Verbose.
	Runtime *tfbridge.RuntimeOptions

	// Operations names the compiler for our own operations.
	Operations *install.OperationsOptions

	// Probe returns a command, not yet started, that calls [Try] for the runtime in a
	// directory and writes the result as JSON to standard output. It runs in a separate
	// process because a broken library may end it. If the command's Stderr is nil, the
	// end of its stderr becomes part of a finding.
	Probe func(ctx context.Context, dir string) (*exec.Cmd, error)
}

// examination is one call of Examine.
type examination struct {
	*Options
	yield   func(Finding) bool
	stopped bool // the caller has left the loop
}

// Examine makes the checks and yields each result at once, because later checks
// may take seconds. It skips checks that cannot succeed after earlier failures.
// Canceling ctx kills the probe.
func Examine(ctx context.Context, o *Options) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		e := &examination{Options: o, yield: yield}
		e.processor()
		if dir, ok := e.files(); ok && !e.stopped && e.hashes(dir) && !e.stopped {
			e.opens(ctx, dir)
		}
		e.sandbox()
		e.descriptors()
		e.memory()
	}
}

// add yields a finding.
func (e *examination) add(check string, s State, remedy, format string, args ...any) {
	if e.stopped {
		return
	}
	detail := terminal.Line(fmt.Sprintf(format, args...))
	e.stopped = !e.yield(Finding{Check: check, State: s, Detail: detail, Remedy: remedy})
}

// fail yields an error and its remedy. It omits the remedy if the error already names
// it.
func (e *examination) fail(check string, err error, remedy string) {
	if strings.Contains(err.Error(), remedy) {
		remedy = ""
	}
	e.add(check, Fail, remedy, "%v", err)
}
