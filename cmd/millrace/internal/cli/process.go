package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"millrace/tfbridge"
)

// NewProgram returns a program that prints to the standard output and the standard
// error of the process.
func NewProgram() *Program {
	refuseClosedOutput()
	return &Program{Stdout: &standardOutput{w: os.Stdout}, Stderr: ownStderr()}
}

// Main runs the command line of the process, given without the program's name, until
// the command ends or a signal stops it. Then it ends the process with the exit code.
func Main(p *Program, root *cobra.Command, args []string) {
	EndCrashesBySignal(args)
	p.sandbox.process = true
	// With SIGPIPE caught, a write to a closed standard output returns an error
	// and does not kill the process half-way.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background(), p.hangup)
	code := p.runOrAbandon(ctx, root, args)
	stop()
	os.Exit(code)
}

// EndCrashesBySignal makes a crash of Go end the process with SIGABRT, as a
// crash of TensorFlow does, and has TensorFlow's crashes reported with the command line.
// Go's default exit code is 2, which here means a wrong config. A panic in a command is
// not a crash: [Program.Run] turns it into exit code 70.
func EndCrashesBySignal(args []string) {
	debug.SetTraceback("crash")
	tfbridge.ReportCrashes(fmt.Sprintf("The command was: millrace %q", args))
}

// ownStderr returns a duplicate of standard error. While TensorFlow opens, maybe in the
// background, its output to descriptor 2 is delayed; the duplicate is not affected.
func ownStderr() *os.File {
	fd, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stderr
	}
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}
