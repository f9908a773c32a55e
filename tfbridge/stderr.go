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

// logDefaults are the settings that turn TensorFlow's log off. They are read
// from the C environment when the library is opened; those that the user has
// set stay as they are.
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

// setC sets a variable of the environment that C sees. Go's, which child
// processes inherit, stays as it is.
func setC(name, value string) {
	var cs cstrings
	defer cs.free()
	C.setenv(cs.add(name), cs.add(value), 1)
}

// chatter matches the lines that TensorFlow's static initialisers log before
// any setting is read.
var chatter = regexp.MustCompile(`^(WARNING: All log messages before absl::InitializeLog\(\)|[IWE]\d{4} \d\d:\d\d:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] )`)

// holdStderr runs open with file descriptor 2 going to memory, then writes on
// what was said there: everything if open failed, else what is not
// TensorFlow's start-up chatter, for other goroutines may write too.
func holdStderr(open func() error) error {
	// No process may be started in between; it would inherit the descriptor.
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

// replay writes what was held back to stderr.
func replay(held *os.File, all bool) {
	if _, err := held.Seek(0, io.SeekStart); err != nil {
		return
	}
	text, err := io.ReadAll(held)
	if err != nil {
		return
	}
	for line := range bytes.Lines(text) {
		if all || !chatter.Match(line) {
			os.Stderr.Write(line)
		}
	}
}
