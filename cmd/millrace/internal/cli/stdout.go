package cli

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"
)

// standardOutput notices when its reader has closed the pipe, as head does
// after ten lines. The program then ends without a message: this is not a
// failure.
type standardOutput struct {
	w    io.Writer
	left atomic.Bool
}

// Write writes to standard output.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.left.Store(true)
	}
	return n, err
}
