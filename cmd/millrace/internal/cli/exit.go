package cli

import (
	"errors"
	"fmt"
	"syscall"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/terminal"
	"millrace/internal/tool/ops"
)

const (
	exitFailed   = 1
	exitUsage    = 2
	exitInternal = 70
	exitPipe     = 128 + int(syscall.SIGPIPE)
)

// ExitPeer is the exit code of a process whose peers in a cluster failed.
const ExitPeer = 8

// exitCodes are the codes of the classes of failure.
var exitCodes = map[millrace.Class]int{
	millrace.ErrConfig:      2,
	millrace.ErrSchema:      3,
	millrace.ErrCorrupt:     3,
	millrace.ErrTruncated:   3,
	millrace.ErrModel:       4,
	millrace.ErrUnsafeModel: 4,
	millrace.ErrCheckpoint:  5,
	millrace.ErrLimit:       6,
	millrace.ErrIO:          7,
	millrace.ErrTransient:   7,
	millrace.ErrOverloaded:  7,
	millrace.ErrRuntime:     7,
	millrace.ErrPeer:        ExitPeer,
	millrace.ErrCanceled:    130,
}

// exitCode returns the exit code for the first class in err.
func exitCode(err error) int {
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	if errors.Is(err, ops.ErrTestsFailed) {
		return exitFailed
	}
	if outOfFiles(err) {
		return exitCodes[millrace.ErrLimit]
	}
	var class millrace.Class
	if errors.As(err, &class) {
		if code, ok := exitCodes[class]; ok {
			return code
		}
	}
	return exitInternal
}

// outOfFiles reports whether the process could not open one more file, whatever the file is.
func outOfFiles(err error) bool { return errors.Is(err, syscall.EMFILE) }

// ChildError is the failure of a child process that has printed the reason itself. The
// program ends with the child's exit code.
type ChildError struct{ Code int }

// Error returns the exit code as text.
func (c ChildError) Error() string {
	return fmt.Sprintf("the child process ended with exit code %d", c.Code)
}

// Silent is an error that the command has already printed.
type Silent struct{ Err error }

// Error returns the message of Err.
func (s Silent) Error() string { return s.Err.Error() }

// Unwrap returns Err.
func (s Silent) Unwrap() error { return s.Err }

// problems splits an error into the lines to print.
func problems(err error) []string {
	var done Silent
	if errors.As(err, &done) {
		return nil
	}
	var list diag.List
	if errors.As(err, &list) {
		var lines []string
		for _, d := range list {
			lines = append(lines, terminal.Line(d.Error()))
		}
		return lines
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && isJoined(err) {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, problems(e)...)
		}
		return lines
	}
	return []string{terminal.Line(err.Error())}
}

// isJoined reports whether err came from errors.Join.
func isJoined(err error) bool { return fmt.Sprintf("%T", err) == "*errors.joinError" }
