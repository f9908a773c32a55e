package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
)

// readCalls are the system calls that read a data file, Go's and TensorFlow's.
const readCalls = "read,pread64"

// tracedDump dumps a dataset with a fault at the n-th system call that reads a data
// file. hit is false if there are fewer such calls.
func tracedDump(t *testing.T, d *fixture.Dataset, fault string, n int) (stdout, stderr string, code int, hit bool) {
	t.Helper()
	program, err := exec.LookPath("millrace")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "strace.log")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", log, "-P", d.Path("a.tfrecords"),
		"-e", "trace="+readCalls, "-e", "inject="+readCalls+":"+fault+":when="+strconv.Itoa(n), program, "dump", d.Config())
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run() // the exit code tells
	trace, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode(), bytes.Contains(trace, []byte("(INJECTED)"))
}

// needStrace skips where processes cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("needs strace and the right to trace: %v, %s", err, out)
	}
}

// If the operating system fails a read, the error names the file and is never the end
// of the data (C41). An interrupted read is repeated (C42). strace counts the calls of
// each thread separately, so one fault may hit several calls.
func TestFailedReads(t *testing.T) {
	testruntime.Need(t)
	needStrace(t)
	d := fixture.New(t)
	d.Args["num_read_buffer_bytes"], d.Args["target_batch_size"] = 4096, 500 // TensorFlow reads in more pieces than Go
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4000)...)
	d.Save(t)
	whole, said, code, _ := tracedDump(t, d, "error=EIO", 60000)
	if code != 0 {
		t.Fatal(said)
	}
	hits := 0
	for n := 1; ; n *= 2 {
		stdout, stderr, code, hit := tracedDump(t, d, "error=EIO", n)
		if !hit {
			break
		}
		hits++
		if code != 7 || !strings.Contains(stderr, d.Path("a.tfrecords")) || !strings.HasPrefix(whole, stdout) {
			t.Errorf("read %d fails: exit code %d, %s\n%s", n, code, stderr, stdout[:min(len(stdout), 100)])
		}
	}
	if hits < 3 {
		t.Errorf("only %d reads failed", hits)
	}
	stdout, stderr, code, hit := tracedDump(t, d, "error=EINTR", 1)
	if code != 0 || stdout != whole || !hit {
		t.Errorf("interrupted: exit code %d, hit %v, %s%s", code, hit, stdout, stderr)
	}
}
