package opeffect

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// probeEnv is set in child processes. Its value is for the test that they run.
const probeEnv = "MILLRACE_TEST_PROBE"

// child is a process that runs one test of this program, which an operation may end.
type child struct {
	cmd      *exec.Cmd
	log      bytes.Buffer // standard error
	out      io.Reader
	patience time.Duration
	alarm    *time.Timer
	stopped  atomic.Bool // it was killed because it took too long
}

// childOptions are the options of [startChild].
type childOptions struct {
	limits   string // commands of the shell before the process, each with a semicolon
	test     string
	env      []string
	input    []string // lines
	patience time.Duration
}

// startChild starts a child in an empty folder, with lines as its input. It is killed if it does not
// call alive for as long as patience.
func startChild(t *testing.T, o childOptions) (*child, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{patience: o.patience}
	c.cmd = exec.CommandContext(t.Context(), "sh", "-c", o.limits+` exec "$0" -test.run="^$1$" -test.v`, program, o.test)
	c.cmd.Dir = t.TempDir()
	c.cmd.Env = append(os.Environ(), o.env...)
	c.cmd.Stdin = strings.NewReader(strings.Join(o.input, "\n") + "\n")
	c.cmd.Stderr = &c.log
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.alarm = time.AfterFunc(c.patience, func() { c.stopped.Store(true); c.cmd.Process.Kill() })
	return c, nil
}

// alive says that the child has made progress.
func (c *child) alive() { c.alarm.Reset(c.patience) }

// wait calls a function for each line of the output, and returns how the child ended.
func (c *child) wait(line func(text string)) error {
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		line(lines.Text())
	}
	c.alarm.Stop()
	return c.cmd.Wait()
}

// childInput returns what the parent gives to this process.
func childInput(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
