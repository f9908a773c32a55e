package estimate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/childproc"
)

// restartedEnv is set in the environment of a process that another one restarts. Its value
// is how often that has happened.
const restartedEnv = "MILLRACE_RESTARTED"

// The time between a failure and the restart, which doubles with each failure: the peers of
// a process that was killed need some time to notice it and to end.
const firstPause, lastPause = time.Second, 30 * time.Second

// supervise runs this command line in a child process, and again from the last checkpoint,
// at most restarts times, when it ends because another process of the cluster failed or
// because something killed it. All other ends of the child are the end of this process.
//
// The training runs in a child because TensorFlow cannot leave a cluster, nor join one
// again, before the process ends, and because a process that was killed cannot restart
// itself. The parent opens neither TensorFlow nor a file.
func supervise(ctx context.Context, p *cli.Program, restarts int) error {
	p.SetGrace(trainGrace + cli.Grace) // the child gets the signal and needs its own time
	stop := func() os.Signal {
		var by cli.SignalError
		if errors.As(context.Cause(ctx), &by) {
			return by.Signal
		}
		return syscall.SIGTERM
	}
	for count, pause := 0, firstPause; ; count, pause = count+1, min(2*pause, lastPause) {
		program, err := os.Executable()
		if err != nil {
			return millrace.Errorf(millrace.ErrIO, "find the program to restart: %w", err)
		}
		cmd := exec.CommandContext(ctx, program)
		cmd.Args = os.Args
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", restartedEnv, count))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = childproc.RunUntil(cmd, stop)
		if cmd.ProcessState == nil {
			return millrace.Errorf(millrace.ErrIO, "start the training: %w", err)
		}
		code, reason := restartable(cmd.ProcessState.Sys().(syscall.WaitStatus))
		switch {
		case code == 0:
			return nil
		case reason == "" || count == restarts || ctx.Err() != nil:
			if reason != "" && restarts > 0 && ctx.Err() == nil {
				p.Warn("%s, and %d restarts are used up", reason, restarts)
			}
			return cli.ChildError{Code: code}
		}
		p.Warn("%s; restart %d of %d, from the last checkpoint", reason, count+1, restarts)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return millrace.Errorf(millrace.ErrCanceled, "wait before the restart: %w", ctx.Err())
		}
	}
}

// restartable returns the exit code of a training that has ended, and why it may be
// restarted; "" if it may not.
func restartable(status syscall.WaitStatus) (code int, reason string) {
	switch {
	case status.Signaled():
		return 128 + int(status.Signal()), "the training was ended by " + unix.SignalName(status.Signal())
	case status.ExitStatus() == cli.ExitPeer:
		return cli.ExitPeer, "another process of the cluster failed"
	}
	return status.ExitStatus(), ""
}

// trainGrace is how long the last step and the last checkpoint of a training
// may take after the first signal.
const trainGrace = 30 * time.Second
