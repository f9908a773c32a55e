package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
)

// Steps of the existing checkpoint, and of the one that is saved.
const oldStep, newStep = 10, 20

// child is a process that saves checkpoints.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startChild starts the process and waits until it has opened TensorFlow.
func startChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, in, bufio.NewScanner(out)}
	if !c.out.Scan() || c.out.Text() != "ready" {
		t.Fatalf("the process says %q, %v", c.out.Text(), c.cmd.Wait())
	}
	return c
}

// save makes the process save in a folder, and returns its output; "" if it dies.
func (c *child) save(dir string) string {
	fmt.Fprintln(c.in, dir)
	if !c.out.Scan() {
		return ""
	}
	return c.out.Text()
}

// end ends the process.
func (c *child) end() {
	c.in.Close()
	_ = c.cmd.Wait() // fails for a killed process
}

// traced is save under strace with options. It also returns strace's output.
func (c *child) traced(t *testing.T, dir string, options ...string) (said, trace string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace.log")
	options = append(options, "-f", "-y", "-o", log, "-p", strconv.Itoa(c.cmd.Process.Pid))
	strace := exec.CommandContext(t.Context(), "strace", options...)
	errors, err := strace.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := strace.Start(); err != nil {
		t.Fatal(err)
	}
	if attached := bufio.NewScanner(errors); !attached.Scan() || !strings.Contains(attached.Text(), "attached") {
		t.Fatalf("strace says %q", attached.Text())
	}
	if said = c.save(dir); said == "" {
		_ = strace.Process.Kill() // it waits for threads of the process that are gone
	} else {
		_ = strace.Process.Signal(os.Interrupt) // it lets the process go
	}
	_, _ = io.Copy(io.Discard, errors)
	_ = strace.Wait()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return said, string(text)
}

// needStrace skips where processes cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	testruntime.Need(t)
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("needs strace and the right to trace: %v, %s", err, out)
	}
}

// withOld returns a folder that has the old checkpoint.
func withOld(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := saveOne(dir, oldStep); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newest returns the step from which a training would resume.
func newest(t *testing.T, dir string) int64 {
	t.Helper()
	c, skipped, err := Newest(dir)
	if err != nil || c == nil {
		t.Fatalf("neither the old checkpoint nor the new one: %v, %v, %v", c, skipped, err)
	}
	return c.Info.Step
}

// saveCalls are the system calls of saving, Go's and TensorFlow's, and how many of each
// are tested in a brief test.
var saveCalls = map[string]int{"openat": 2, "write": 2, "fsync": 5, "close": 1, "rename": 1, "renameat": 4, "unlinkat": 3, "mkdirat": 1}

// lockClosed occurs in a trace in which closing the lock of a folder was made to fail.
var lockClosed = regexp.MustCompile(`close\(\d+<[^>]*/\.lock>\).*\(INJECTED\)`)

// A system call that fails while a checkpoint is saved is an error about the
// checkpoint, which names a file and the system's reason. The call is not repeated:
// after a failed fsync the next one reports success although the data are lost. The old
// checkpoint or the new one stays, and the next one is saved (F03, F04).
func TestErrorAtEachCall(t *testing.T) {
	needStrace(t)
	c := startChild(t)
	defer func() { c.end() }()
	c.save(withOld(t))
	hits, refused := 0, 0
	for call, most := range saveCalls {
		for n := 1; n <= soak.Rounds(most, 100); n++ {
			dir := withOld(t)
			said, trace := c.traced(t, dir, "-e", "trace="+call, "-e", "inject="+call+":error=EIO:when="+strconv.Itoa(n))
			if !strings.Contains(trace, "(INJECTED)") {
				break
			}
			if call == "close" && lockClosed.MatchString(trace) {
				c.end() // strace has not closed it, so the process keeps the lock
				c = startChild(t)
				continue
			}
			hits++
			if strings.HasPrefix(said, "refused") {
				refused++
			}
			step := newest(t, dir)
			if !strings.HasPrefix(said, "refused") && (said != "saved" || step != newStep) || strings.HasPrefix(said, "refused") && !strings.Contains(strings.ToLower(said), "input/output error") {
				t.Errorf("%s %d fails: step %d, %s", call, n, step, said)
			}
			if call == "fsync" && strings.Count(trace, "fsync(") > n {
				t.Errorf("fsync %d fails: the process goes on\n%s", n, trace)
			}
			if said := c.save(dir); said != "saved" || newest(t, dir) != newStep {
				t.Errorf("after %s %d has failed: %s", call, n, said)
			}
			onlyCheckpoint(t, dir)
		}
	}
	if refused < 10 {
		t.Errorf("%d calls failed, %d of them mattered", hits, refused)
	}
	t.Logf("%d calls failed, %d of them mattered", hits, refused)
}

// onlyCheckpoint checks that there are no files besides the new checkpoint.
func onlyCheckpoint(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 5 { // its three files, the file "checkpoint", and the lock
		t.Errorf("the folder holds %q, %v", names, err)
	}
}

// A process that is killed at any system call of saving leaves the old checkpoint or
// the new one, and the next process removes the rest (F02, F19).
func TestKilledAtEachCall(t *testing.T) {
	needStrace(t)
	kills := 0
	for call, most := range map[string]int{"renameat": 2, "unlinkat": 1, "fsync": 0, "openat": 0, "write": 0, "rename": 0, "close": 0} {
		for n := 1; n <= soak.Rounds(most, 100); n++ {
			dir := withOld(t)
			c := startChild(t)
			at := n
			if call == "renameat" && !soak.Long() {
				at = 2 * n // between two files of the new checkpoint, and at the file "checkpoint"
			}
			said, _ := c.traced(t, dir, "-e", "trace="+call, "-e", "inject="+call+":signal=KILL:when="+strconv.Itoa(at))
			c.end()
			if said == "saved" {
				break
			}
			kills++
			if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Errorf("%s %d: it said %q and ended with %v", call, at, said, c.cmd.ProcessState)
			}
			newest(t, dir)
			if err := saveOne(dir, newStep+1); err != nil || newest(t, dir) != newStep+1 {
				t.Errorf("after the kill at %s %d: %v", call, at, err)
			}
			onlyCheckpoint(t, dir)
		}
	}
	if kills < 3 {
		t.Errorf("only %d kills", kills)
	}
}

// A checkpoint counts only when all of it is on the disk, and the previous one is
// removed only after that. So a machine that loses unsynced data has one of the two
// (F07).
func TestOnTheDiskBeforeItCounts(t *testing.T) {
	needStrace(t)
	c := startChild(t)
	defer c.end()
	dir := withOld(t)
	said, trace := c.traced(t, dir, "-e", "trace=fsync,renameat,unlinkat")
	if said != "saved" {
		t.Fatal(said)
	}
	var want []string
	for _, name := range files(newStep) {
		want = append(want, "fsync "+filepath.Join(writingName, name))
	}
	for _, name := range files(newStep) {
		want = append(want, "renameat "+name)
	}
	want = append(want, "fsync .", "fsync "+markerName+".tmp", "renameat "+markerName, "fsync .")
	for _, name := range slices.Backward(files(oldStep)) {
		want = append(want, "unlinkat "+name)
	}
	at := 0
	for _, call := range calls(dir, trace) {
		switch {
		case at < len(want) && call == want[at]:
			at++
		case strings.HasPrefix(call, "renameat "+writingName): // not a name that counts
		case strings.HasPrefix(call, "renameat") || call == "unlinkat "+files(oldStep)[0]:
			t.Errorf("%s comes before %s", call, want[min(at, len(want)-1)])
		}
	}
	if at < len(want) {
		t.Errorf("%s is missing in\n%s", want[at], trace)
	}
}

var (
	syncCall = regexp.MustCompile(`(fsync)\(\d+<([^>]*)>`)
	nameCall = regexp.MustCompile(`(renameat|unlinkat)\(.*"([^"]*)"`)
)

// randomName is a temporary name of package atomicfile.
var randomName = regexp.MustCompile(`\.(\w+)\.[A-Z2-7]{26}\.tmp$`)

// calls returns the calls of a trace with the last of the files that they name,
// relative to the folder.
func calls(dir, trace string) (list []string) {
	for line := range bytes.Lines([]byte(trace)) {
		m := syncCall.FindSubmatch(line)
		if m == nil {
			m = nameCall.FindSubmatch(line)
		}
		if m == nil {
			continue
		}
		if name, err := filepath.Rel(dir, string(m[2])); err == nil {
			list = append(list, string(m[1])+" "+randomName.ReplaceAllString(name, "$1.tmp"))
		}
	}
	return list
}
