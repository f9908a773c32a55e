package testruntime

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// childEnv selects what TestMain does in the test binary started again.
const childEnv = "MILLRACE_TESTRUNTIME_CHILD"

var leaks atomic.Int64

func TestMain(m *testing.M) {
	none := func() error { return errors.New("no library at /nowhere") }
	some := func() error { return nil }
	live := func() int64 { return leaks.Load() }
	switch os.Getenv(childEnv) {
	case "none":
		os.Exit(Main(m, Hooks{Open: none}))
	case "mixed":
		os.Exit(Main(m, Hooks{Open: none, Mixed: true}))
	case "leak":
		leaks.Store(2)
		os.Exit(Main(m, Hooks{Open: some, Live: live, Kinds: func() map[string]int64 {
			return map[string]int64{"tensor": 2, "graph": 0}
		}}))
	case "collectable":
		leaks.Store(1)
		runtime.AddCleanup(new([64]byte), func(int) { leaks.Store(0) }, 0)
		os.Exit(Main(m, Hooks{Open: some, Live: live}))
	}
	os.Exit(m.Run())
}

func TestNeed(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		t.Skip("for the child process")
	}
	Need(t)
}

func TestMainOutcomes(t *testing.T) {
	tests := []struct {
		child, env string
		code       int
		want       string
	}{
		{"none", "", 0, "SKIP: 2 tests need the runtime: no library at /nowhere"},
		{"none", Required, 1, "FAIL: no runtime, and MILLRACE_TEST_RUNTIME=required: no library"},
		{"mixed", "", 0, "SKIP: 1 tests need the runtime: no library"},
		{"mixed", Required, 1, "FAIL: no runtime"},
		{"leak", "", 1, "FAIL: 2 C objects still open after the tests; tensor: 2\n"},
		{"collectable", Required, 0, "PASS"},
	}
	for _, tt := range tests {
		t.Run(tt.child+tt.env, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNeed$")
			cmd.Env = append(os.Environ(), childEnv+"="+tt.child, Env+"="+tt.env)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code\n got %d\nwant %d\n%s", code, tt.code, out)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("output\n got %s\nwant %s", out, tt.want)
			}
		})
	}
}
