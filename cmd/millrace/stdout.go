package main

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

// predictions returns the writer for predictions that go to standard output. A
// reader that closes the pipe early is a failure here, because predictions are
// lost.
func (p *program) predictions() io.Writer {
	if o, ok := p.stdout.(*standardOutput); ok {
		return o.w
	}
	return p.stdout
}

// readerLeft reports whether the reader has closed standard output.
func (p *program) readerLeft() bool {
	o, ok := p.stdout.(*standardOutput)
	return ok && o.left.Load()
}
