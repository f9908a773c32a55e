// Package childproc runs commands that must not outlive this process.
package childproc

import (
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
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
