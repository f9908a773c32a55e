package graph_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace/graph"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/sandbox"
	"millrace/tfbridge"
)

// TestTricksInSandbox loads and runs tricks with the policy switched off, in a process
// that the kernel confines to the model's folder: twelve in each run of the tests, all
// in make soak. No system call that
// opens, makes or changes something outside may succeed, whatever becomes of the
// process. The same without the sandbox shows what the tricks do.
func TestTricksInSandbox(t *testing.T) {
	testruntime.Need(t)
	if p := sandbox.Available(); !p.Whole() {
		t.Skipf("SKIPPED: THE SANDBOX IS NOT TESTED: this kernel offers: %s", p)
	}
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("needs strace and the right to trace: %v, %s", err, out)
	}
	effects := 0
	for i, trick := range tricks[:soak.Rounds(12, len(tricks))] {
		base := t.TempDir()
		for _, seen := range runTrick(t, layTrick(t, filepath.Join(base, "confined"), i), sandbox.Require) {
			t.Errorf("%d, %s: %s", i+1, trick.what, seen)
		}
		if effects == 0 && len(runTrick(t, layTrick(t, filepath.Join(base, "free"), i), sandbox.Off)) > 0 {
			effects++
		}
	}
	if effects == 0 {
		t.Error("no trick does anything without the sandbox: the trace or the tricks do not work")
	}
}

// trickTime is the time limit of a trick: some tricks wait for the host's pipe.
const trickTime = 20 * time.Second

// runTrick loads and runs a model in a process of its own and returns the system calls by
// which it touched something outside.
func runTrick(t *testing.T, s *smuggled, mode sandbox.Mode) []string {
	t.Helper()
	base := filepath.Dir(s.dir)
	temp, work, log := filepath.Join(base, "temp"), filepath.Join(base, "work"), filepath.Join(base, "strace")
	for _, dir := range []string{temp, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), trickTime)
	defer cancel()
	// Some tricks ask for a million threads or for more memory than there is.
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 16777216; exec "$@"`, "sh", "strace", "-ff", "-qq", "-s", "4096", "-o", log, "--seccomp-bpf",
		"-e", "trace=%file,%network", program, "-test.run=^TestSandboxedTrickChild$", "-test.v")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_TRICK="+s.dir, "MILLRACE_TEST_SANDBOX="+string(mode), "TMPDIR="+temp)
	cmd.WaitDelay = time.Second
	// strace that is killed leaves its program running.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, _ := cmd.CombinedOutput() // a model may end its process
	if !bytes.Contains(out, []byte("confined: "+mode)) {
		t.Fatalf("the process did not come to the model:\n%s", out)
	}
	logs, err := filepath.Glob(log + ".*")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, name := range logs {
		trace, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, touched(trace, s.host, temp)...)
	}
	return seen
}

// metadata are calls that look at names and open nothing.
var metadata = regexp.MustCompile(`^(stat|lstat|newfstatat|statx|access|faccessat2?|readlink(at)?|statfs|getcwd|chdir)\(`)

// touched returns the calls of a thread that succeeded on something outside.
func touched(trace []byte, host, temp string) (seen []string) {
	for lines := bufio.NewScanner(bytes.NewReader(trace)); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.Contains(line, " = -1 "), metadata.MatchString(line), strings.Contains(line, `"`+temp):
		case strings.HasSuffix(line, " = ?"), strings.Contains(line, "<unfinished"): // the process ended first
		case strings.Contains(line, host), network.MatchString(line), changes.MatchString(line) && !own.MatchString(line):
			seen = append(seen, line)
		}
	}
	return seen
}

// TestSandboxedTrickChild is the process that is traced.
func TestSandboxedTrickChild(t *testing.T) {
	dir, mode := os.Getenv("MILLRACE_TEST_TRICK"), sandbox.Mode(os.Getenv("MILLRACE_TEST_SANDBOX"))
	if dir == "" {
		t.Skip("a part of TestTricksInSandbox")
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil { // if the test itself is killed
		t.Fatal(err)
	}
	runtime, err := tfbridge.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	temp, err := sandbox.NewTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer temp.Close()
	if _, err := sandbox.Restrict(&sandbox.Policy{Read: []string{dir, runtime.Dir()}, Temp: temp}, mode); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("confined: %s\n", mode)
	m, err := graph.LoadModel(dir, &graph.ModelOptions{Unchecked: true})
	if err != nil {
		t.Log(err)
		return
	}
	defer m.Close()
	outputs, err := m.Call(t.Context(), "", map[string]any{"x": "value"})
	if err != nil {
		t.Log(err)
	}
	for _, o := range outputs {
		o.Close()
	}
	fmt.Println("ran the model")
}
