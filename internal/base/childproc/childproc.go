// Package childproc runs commands that must not outlive this process.
package childproc

import (
	"os"
	"os/exec"
	"runtime"
)

// Run runs a command as its method Run does. The kernel kills the command when
// this process dies. Canceling the command's context also kills its children.
//
// The kernel watches the thread that started the command, so Run keeps its
// goroutine on that thread.
func Run(cmd *exec.Cmd) error {
	attach(cmd)
	return run(cmd)
}

// RunUntil runs a command as Run does, except that canceling the command's context sends it
// the signal that stop returns, and leaves its children alone. RunUntil then waits until the
// command ends.
func RunUntil(cmd *exec.Cmd, stop func() os.Signal) error {
	attach(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(stop()) }
	return run(cmd)
}

// run keeps its goroutine on the thread that starts the command.
func run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
