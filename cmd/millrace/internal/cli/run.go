package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/base/terminal"
)

// Run runs a command line and returns the exit code. It prints all problems to
// Stderr, one per line.
func (p *Program) Run(ctx context.Context, root *cobra.Command, args []string) int {
	return p.guard(func() int {
		root.SetArgs(args)
		err := withLost(p.Stdout, root.ExecuteContext(ctx))
		p.sandbox.temp.Close()
		return p.finish(ctx, err)
	})
}

// guard turns a panic in run into a message and an exit code.
func (p *Program) guard(run func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.Stderr, "internal error, please report: %s\n", terminal.Line(fmt.Sprint(r)))
			if p.Verbose {
				p.Stderr.Write(debug.Stack())
			}
			code = exitInternal
		}
	}()
	return run()
}

// finish prints the problems and returns the exit code. After a signal, the
// exit code is the signal's, whatever error the canceled command returned. If
// the reader of standard output has closed the pipe, finish prints nothing and
// returns the code of SIGPIPE.
func (p *Program) finish(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	var child ChildError
	if errors.As(err, &child) {
		return child.Code
	}
	var stopped SignalError
	if errors.As(context.Cause(ctx), &stopped) {
		if !errors.Is(err, millrace.ErrCanceled) && !errors.Is(err, context.Canceled) {
			p.PrintProblems(err)
		}
		return p.stopped(ctx)
	}
	if p.readerLeft() {
		return exitPipe
	}
	p.PrintProblems(err)
	p.explainDenial(err)
	code := exitCode(err)
	if code == exitInternal {
		fmt.Fprintln(p.Stderr, "internal error, please report")
	}
	return code
}

// graceTime returns how long the command that runs may take to stop.
func (p *Program) graceTime() time.Duration { return max(Grace, time.Duration(p.grace.Load())) }

// runOrAbandon runs a command line and returns the exit code. If the command does not
// stop within its grace time after a signal, runOrAbandon returns while the command
// still runs. The end of the process then ends it. This is needed because TensorFlow
// cannot be interrupted while it loads a model, and neither can some system calls.
func (p *Program) runOrAbandon(ctx context.Context, root *cobra.Command, args []string) int {
	done := make(chan int, 1)
	go func() { done <- p.Run(ctx, root, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	select {
	case code := <-done:
		return code
	case <-time.After(p.graceTime()):
		return p.stopped(ctx)
	}
}

// stopped prints which signal stopped the command, and returns the exit code.
func (p *Program) stopped(ctx context.Context) int {
	var by SignalError
	if !errors.As(context.Cause(ctx), &by) {
		return exitInternal
	}
	left := ""
	if name, ok := p.unfinished.Load().(string); ok {
		left = "; " + name
	}
	fmt.Fprintf(p.Stderr, "stopped by %s%s\n", by, left)
	return by.exitCode()
}
