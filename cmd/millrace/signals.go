package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalError is why a context ended: the user or the system asked for it.
type signalError struct{ signal syscall.Signal }

// Error returns the signal's usual name.
func (s signalError) Error() string {
	switch s.signal {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.signal.String()
}

func (s signalError) exitCode() int { return 128 + int(s.signal) }

// untilSignal returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP, so that the command can stop cleanly. A second one, or a command that
// does not stop, ends the process at once; what is written under a temporary
// name stays behind then, and the next run over the same output takes it over.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		first, ok := <-signals
		if !ok {
			return
		}
		cancel(signalError{first.(syscall.Signal)})
		if second, ok := <-signals; ok {
			os.Exit(signalError{second.(syscall.Signal)}.exitCode())
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// grace is how long a command may take to stop after the first signal. It is
// over well before the 5 seconds that users are promised.
const grace = 2 * time.Second

// runOrAbandon carries out a command line and returns the exit code. A command
// that does not stop soon after a signal is left behind, for the process to
// end: TensorFlow cannot be interrupted while it loads a model, nor the kernel
// while it opens a file.
func (p *program) runOrAbandon(ctx context.Context, args []string) int {
	done := make(chan int, 1)
	go func() { done <- p.run(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	select {
	case code := <-done:
		return code
	case <-time.After(grace):
		return p.stopped(ctx)
	}
}

// stopped says on stderr that a signal stopped the command, and returns the
// exit code.
func (p *program) stopped(ctx context.Context) int {
	var by signalError
	if !errors.As(context.Cause(ctx), &by) {
		return exitInternal
	}
	left := ""
	if name, ok := p.unfinished.Load().(string); ok {
		left = "; " + name + " is not written"
	}
	fmt.Fprintf(p.stderr, "stopped by %s%s\n", by, left)
	return by.exitCode()
}
