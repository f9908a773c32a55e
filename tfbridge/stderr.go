package tfbridge

// #include "capi.h"
// #include "closed_stdout.h"
// #include "crash.h"
import "C"

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// logDefaults turn TensorFlow's log off. TensorFlow reads them from the C
// environment when it is opened. Variables that the user has set keep their
// values.
var logDefaults = []struct{ name, value string }{
	{"TF_CPP_MIN_LOG_LEVEL", "3"},
	{"TF_CPP_MAX_VLOG_LEVEL", "0"},
}

// quiet turns TensorFlow's log off, without touching Go's environment, which
// child processes inherit.
func quiet() {
	for _, d := range logDefaults {
		if os.Getenv(d.name) != "" {
			continue
		}
		setC(d.name, d.value)
	}
}

// setC sets a variable in the C environment only. Go's environment, which child
// processes inherit, does not change.
func setC(name, value string) {
	var cs cstrings
	defer cs.free()
	C.setenv(cs.add(name), cs.add(value), 1)
}

// lookupC looks up a variable of C's environment, which TensorFlow reads.
func lookupC(name string) (value string, set bool) {
	var cs cstrings
	defer cs.free()
	found := C.getenv(cs.add(name))
	return C.GoString(found), found != nil
}

// startupLog matches the lines that TensorFlow's static initialisers log before
// TensorFlow reads any setting.
var startupLog = regexp.MustCompile(`^(WARNING: All log messages before absl::InitializeLog\(\)|[IWE]\d{4} \d\d:\d\d:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] )`)

// holdStderr runs open while file descriptor 2 is redirected to memory, and then writes
// the buffered text to stderr. If open succeeded it omits TensorFlow's start-up log;
// the rest may come from other goroutines.
func holdStderr(open func() error) error {
	// No child process may start meanwhile: it would inherit the descriptor.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	memory, err := unix.MemfdCreate("millrace-stderr", unix.MFD_CLOEXEC)
	if err != nil {
		return open()
	}
	held := os.NewFile(uintptr(memory), "stderr held back")
	defer held.Close()
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return open() // there is no stderr
	}
	defer unix.Close(saved)
	restore := crashesTo(saved)
	if err := unix.Dup3(memory, 2, 0); err != nil {
		restore()
		return open()
	}
	failure := open()
	err = unix.Dup3(saved, 2, 0)
	restore() // not deferred: a panic prints after deferred calls
	if err != nil {
		return errors.Join(failure, err)
	}
	replay(held, failure != nil)
	return failure
}

// replay writes the buffered text to stderr.
func replay(held *os.File, all bool) {
	if _, err := held.Seek(0, io.SeekStart); err != nil {
		return
	}
	text, err := io.ReadAll(held)
	if err != nil {
		return
	}
	for line := range bytes.Lines(text) {
		if all || !startupLog.Match(line) {
			os.Stderr.Write(line)
		}
	}
}

// reportsCrashes is set by ReportCrashes.
var reportsCrashes atomic.Bool

// ReportCrashes makes a crash in a thread of TensorFlow report itself on standard error:
// the signal, what the process was running, and the stack of the thread. Without it
// the process ends without a word. A crash in a thread of Go is reported by Go, also
// while [Open] redirects standard error. The process ends as it would without
// the report.
//
// It is for programs, not for libraries: call it at the start of main. It puts handlers
// before Go's for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and SIGQUIT. A signal that
// somebody sends to the process reaches a thread of Go: SIGQUIT prints the goroutines
// instead of ending the process in whichever thread gets it. Stacks that overflow are
// not reported, because nothing can run on them.
func ReportCrashes(running string) {
	if reportsCrashes.Swap(true) {
		return
	}
	stderr, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return // there is no stderr
	}
	var cs cstrings
	defer cs.free()
	C.mr_report_crashes(C.int(stderr), cs.add(running))
}

// crashesTo has Go report its crashes to a descriptor, too, until the returned function
// is called. Programs that do not call ReportCrashes may have their own place for them.
func crashesTo(fd int) (restore func()) {
	if !reportsCrashes.Load() {
		return func() {}
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return func() {}
	}
	file := os.NewFile(uintptr(own), "stderr")
	defer file.Close() // SetCrashOutput duplicates it
	if debug.SetCrashOutput(file, debug.CrashOptions{}) != nil {
		return func() {}
	}
	return func() { debug.SetCrashOutput(nil, debug.CrashOptions{}) }
}

// StdoutWasClosed reports whether the process began without a standard output, as a shell
// starts it with ">&-". Go puts /dev/null in its place: writes succeed, and what they
// write is lost. A program whose standard output is its result can ask this at its start.
func StdoutWasClosed() bool { return C.mr_stdout_was_closed() != 0 }
