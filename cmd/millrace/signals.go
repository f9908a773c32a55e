package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
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
// SIGHUP, so that the command can stop cleanly. A second one ends the process
// at once; what is written under a temporary name stays behind then, and the
// next run over the same output takes it over.
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
