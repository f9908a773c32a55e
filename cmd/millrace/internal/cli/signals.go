package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// SignalError is the cause of a context that a signal canceled.
type SignalError struct{ Signal syscall.Signal }

// Error returns the signal's usual name.
func (s SignalError) Error() string {
	switch s.Signal {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.Signal.String()
}

func (s SignalError) exitCode() int { return 128 + int(s.Signal) }

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels, so that the command can stop cleanly. A second signal ends the
// process at once, and so does a command that does not stop. A temporary output
// file then stays behind; the next command that writes the same output reuses
// it. A SIGHUP for which hangup returns true is none of these signals.
func untilSignal(parent context.Context, hangup func() bool) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		next := func() (os.Signal, bool) {
			for got := range signals {
				if got != syscall.SIGHUP || !hangup() {
					return got, true
				}
			}
			return nil, false
		}
		first, ok := next()
		if !ok {
			return
		}
		cancel(SignalError{first.(syscall.Signal)})
		if second, ok := next(); ok {
			os.Exit(SignalError{second.(syscall.Signal)}.exitCode())
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// Grace is how long a command may take to stop after the first signal. The
// documentation promises 5 seconds, which leaves a margin.
const Grace = 2 * time.Second
