package main

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"
)

// standardOutput notes when its reader has left, as head does after ten lines.
// That is no failure worth a message: the program ends, and says nothing.
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

// predictions returns where predictions go that are written to standard output.
// There a reader that leaves early is a failure: it has not got all of them.
func (p *program) predictions() io.Writer {
	if o, ok := p.stdout.(*standardOutput); ok {
		return o.w
	}
	return p.stdout
}

// readerLeft reports whether the reader of standard output has left.
func (p *program) readerLeft() bool {
	o, ok := p.stdout.(*standardOutput)
	return ok && o.left.Load()
}
