package tfbridge

// #include "capi.h"
import "C"

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
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
	if err := unix.Dup3(memory, 2, 0); err != nil {
		return open()
	}
	failure := open()
	if err := unix.Dup3(saved, 2, 0); err != nil {
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
