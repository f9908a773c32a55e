// Command millrace runs TensorFlow input pipelines and models.
//
// Each subcommand is a file of its own here, which parses flags and prints;
// what it does is in the packages below.
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
	// With SIGPIPE caught, a write to a closed standard output is an error
	// like any other and does not end the process in the middle of things.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background())
	p := &program{stdout: &standardOutput{w: os.Stdout}, stderr: ownStderr()}
	code := p.runOrAbandon(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// endCrashesBySignal has a crash of Go end the process by SIGABRT, as a crash
// of TensorFlow does. Go's own exit code would be 2, that of a wrong config. A
// panic of a command is no crash: [program.run] turns it into exit code 70.
func endCrashesBySignal() { debug.SetTraceback("crash") }

// ownStderr returns standard error by a descriptor of its own: while TensorFlow
// is being opened, which may be in the background, descriptor 2 is held back.
func ownStderr() *os.File {
	fd, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stderr
	}
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
