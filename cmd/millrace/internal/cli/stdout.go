package cli

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"millrace/tfbridge"
)

// standardOutput notices when its reader has closed the pipe, as head does
// after ten lines. The program then ends without a message: this is not a
// failure. It remembers any failure, for writers that forget theirs.
type standardOutput struct {
	w    io.Writer
	left atomic.Bool
	lost atomic.Pointer[error] // the first failure
}

// Write writes to standard output.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.left.Store(true)
	}
	if err != nil {
		o.lost.CompareAndSwap(nil, &err)
	}
	return n, err
}

// withLost returns the error of a command, or the first failure to write to w if the
// command ignored it, as cobra does for help, or passes it on as it is, as cobra does for
// --version.
func withLost(w io.Writer, err error) error {
	o, ok := w.(*standardOutput)
	if !ok {
		return err
	}
	if lost := o.lost.Load(); lost != nil && (err == nil || errors.Is(err, *lost)) {
		return StdoutError(*lost)
	}
	return err
}

// refuseClosedOutput makes writes to a standard output fail that was closed when the
// process began. Go has put /dev/null there, where rows are lost without a word.
func refuseClosedOutput() {
	if !tfbridge.StdoutWasClosed() {
		return
	}
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return // it stays as Go made it
	}
	defer unix.Close(fd)
	unix.Dup3(fd, 1, 0)
}
