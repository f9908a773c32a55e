package output

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/test/soak"
)

// never is the largest count that strace accepts, more than the calls of any output.
const never = 65535

// outputCalls are the system calls that an output makes.
var outputCalls = []string{"openat", "newfstatat", "flock", "ftruncate", "write", "copy_file_range", "fsync", "renameat", "close"}

// injection is a fault at the n-th of a system call on the watched files, in a child
// that writes an output.
type injection struct {
	child, path string
	watched     []string
	call, fault string
	n           int
}

// injected runs the child under strace and returns its output; hit is false if the
// child went through without the fault.
func injected(t *testing.T, i *injection) (said string, hit bool) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace.log")
	args := []string{"-f", "-qq", "-o", log, "-e", "trace=?" + i.call, "-e", "inject=?" + i.call + ":" + i.fault + ":when=" + strconv.Itoa(i.n)}
	for _, path := range i.watched {
		args = append(args, "-P", path)
	}
	cmd := exec.CommandContext(t.Context(), "strace", append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), "MILLRACE_TEST_CHILD="+i.child, "MILLRACE_TEST_PATH="+i.path)
	out, err := cmd.Output()
	trace, readErr := os.ReadFile(log)
	if readErr != nil {
		t.Fatal(readErr)
	}
	hit = bytes.Contains(trace, []byte("(INJECTED)")) || bytes.Contains(trace, []byte("killed by SIGKILL"))
	if err != nil && !hit {
		t.Fatalf("%s %d: %v, %s\n%s", i.call, i.n, err, out, trace)
	}
	return string(out), hit
}

// traced runs a child that writes an output, with a fault at the n-th of a system call.
func traced(t *testing.T, path, call, fault string, n int) (said string, hit bool) {
	t.Helper()
	watched := []string{path, temporary(path), filepath.Dir(path)}
	return injected(t, &injection{child: "whole", path: path, watched: watched, call: call, fault: fault, n: n})
}

// needStrace skips where processes cannot be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("needs strace and the right to trace: %v, %s", err, out)
	}
}

// eachFault writes an output of every format repeatedly, each time with a fault at
// another system call, and calls check for the folder. The output existed before with
// other contents.
func eachFault(t *testing.T, fault string, check func(t *testing.T, path, want, said, call string)) {
	needStrace(t)
	for _, format := range formats {
		t.Run(format.Name, func(t *testing.T) {
			t.Parallel()
			whole := filepath.Join(t.TempDir(), "out"+format.Extensions[0])
			if _, hit := traced(t, whole, "write", fault, never); hit {
				t.Fatal("a fault where there should be none")
			}
			want, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			hits := 0
			for _, call := range outputCalls {
				for n := 1; ; n = next(n) {
					path := filepath.Join(t.TempDir(), "out"+format.Extensions[0])
					if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
						t.Fatal(err)
					}
					said, hit := traced(t, path, call, fault, n)
					if !hit {
						break
					}
					hits++
					check(t, path, string(want), said, call)
				}
			}
			if hits < 8 {
				t.Errorf("only %d faults", hits)
			}
			t.Logf("%d faults", hits)
		})
	}
}

// next returns the number of the call with the next fault: every call in "make soak",
// otherwise at growing intervals.
func next(n int) int {
	if soak.Long() {
		return n + 1
	}
	return 2 * n
}

// TestKilledAtEachCall kills the process at each system call: the output is
// the old one or the new one, and the next run makes it the new one.
func TestKilledAtEachCall(t *testing.T) {
	eachFault(t, "signal=KILL", func(t *testing.T, path, want, _, _ string) {
		got, err := os.ReadFile(path)
		if err != nil || string(got) != "old" && string(got) != want {
			t.Errorf("after the kill: %v, %d bytes", err, len(got))
		}
		if out, err := child(t, "whole", path).Output(); err != nil {
			t.Errorf("the next run: %v, %s", err, out)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("after the next run: %v, %d bytes, want %d", err, len(got), len(want))
		}
		onlyFile(t, path)
	})
}

// TestErrorAtEachCall lets each system call fail: the failure is reported with the
// file, and the output is the old one, or the new one if only syncing the folder
// failed.
func TestErrorAtEachCall(t *testing.T) {
	eachFault(t, "error=EIO", func(t *testing.T, path, want, said, call string) {
		got, err := os.ReadFile(path)
		if err != nil || string(got) != "old" && string(got) != want {
			t.Errorf("after the failure: %v, %d bytes", err, len(got))
		}
		if said != "" && (!strings.HasPrefix(said, path) || !strings.Contains(said, "input/output error")) {
			t.Errorf("it said %s", said)
		}
		if said == "" && string(got) != want {
			t.Error("it said nothing, and the output is not there")
		}
		// Without the lock the owner of the temporary file is unknown.
		if call != "flock" && call != "newfstatat" {
			onlyFile(t, path)
		}
	})
}
