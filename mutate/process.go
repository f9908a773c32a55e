package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// process is a running test program.
type process struct{ *exec.Cmd }

// start makes a process of a test program. The process has its own temporary folder,
// which is removed together with the files that a killed test leaves there. It has its
// own process group, all of which ends with it. The shell limits its memory, because a
// mutant may ask for any amount.
func (w *workshop) start(ctx context.Context, p *program, args ...string) *process {
	return w.startFor(ctx, p, 0, args...)
}

// startFor is start with a limit of processor time, in whole seconds; 0: none.
func (w *workshop) startFor(ctx context.Context, p *program, most time.Duration, args ...string) *process {
	limited := `ulimit -d "$0" && exec "$@"`
	if most > 0 {
		limited = fmt.Sprintf("ulimit -t %.0f && ", max(most.Seconds(), 1)) + limited
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", limited, strconv.Itoa(w.memory << 10), p.path}, args...)...)
	cmd.Dir = p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return &process{Cmd: cmd}
}

// output runs the process and returns what it prints.
func (p *process) output() ([]byte, error) {
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil { // tests that give up rights need it
		return nil, err
	}
	p.Env = append(append(os.Environ(), "TMPDIR="+temp), p.Env...)
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	err = p.Run()
	if p.Process != nil {
		_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL) // the processes that it started
	}
	return out.Bytes(), err
}

// used returns the processor time of a process that has ended.
func (p *process) used() time.Duration {
	if p.ProcessState == nil {
		return 0
	}
	return p.ProcessState.UserTime() + p.ProcessState.SystemTime()
}
