// Command millrace runs TensorFlow input pipelines and models.
//
// Each subcommand has a file, which parses flags and prints. The packages below
// do the work.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	endCrashesBySignal()
	// With SIGPIPE caught, a write to a closed standard output returns an error
	// and does not kill the process half-way.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background())
	p := &program{stdout: &standardOutput{w: os.Stdout}, stderr: ownStderr()}
	code := p.runOrAbandon(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// endCrashesBySignal makes a crash of Go end the process with SIGABRT, as a
// crash of TensorFlow does. Go's default exit code is 2, which here means a
// wrong config. A panic in a command is not a crash: [program.run] turns it
// into exit code 70.
func endCrashesBySignal() { debug.SetTraceback("crash") }

// ownStderr returns a duplicate of standard error. While TensorFlow opens,
// maybe in the background, its output to descriptor 2 is held back; the
// duplicate is not affected.
func ownStderr() *os.File {
	fd, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stderr
	}
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
