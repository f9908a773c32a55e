package tfbridge

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/internal/test/testruntime"
)

// divideByZero has a thread of TensorFlow divide an integer by zero.
func divideByZero() {
	g := NewGraph()
	add := func(typ string, attrs map[string]any, in ...Input) Output {
		op, err := g.AddOperation(OpSpec{Type: typ, Name: typ + strings.Repeat("x", len(g.Operations())), Attrs: attrs, Input: in})
		if err != nil {
			panic(err)
		}
		return op.Output(0)
	}
	constant := func(v any) Output {
		t, err := NewTensor(v)
		if err != nil {
			panic(err)
		}
		return add("Const", map[string]any{"dtype": t.DataType(), "value": t})
	}
	v := add("VariableV2", map[string]any{"dtype": Int32, "shape": MakeShape(2)})
	assigned := add("Assign", nil, v, constant([]int32{1, 2}))
	divided := add("ScatterDiv", nil, assigned, constant(int32(0)), constant(int32(0)))
	s, err := NewSession(g, nil)
	if err != nil {
		panic(err)
	}
	_, err = s.RunContext(context.Background(), nil, []Output{divided}, nil)
	panic(err)
}

// crashes are programs that end in different ways.
var crashes = map[string]func(){
	"in a thread of TensorFlow": divideByZero,
	"in a thread of Go":         func() { unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSEGV) },
	"while TensorFlow opens": func() {
		holdStderr(func() error { panic("lost marbles") }) //nolint:errcheck // it does not return
	},
	"by SIGQUIT": func() { unix.Kill(os.Getpid(), unix.SIGQUIT) },
	"by SIGABRT": func() { unix.Kill(os.Getpid(), unix.SIGABRT) },
}

func crashChild() {
	ReportCrashes("some words")
	if _, err := Open(nil); err != nil {
		panic(err)
	}
	session, err := NewSession(NewGraph(), nil) // has threads of TensorFlow
	if err != nil {
		panic(err)
	}
	defer session.Close()
	crashes[os.Getenv("MILLRACE_TEST_CRASH")]()
	select {}
}

// A crash leaves words, whichever thread it is in, and ends the process by a signal that
// is not SIGQUIT.
func TestCrashes(t *testing.T) {
	testruntime.Need(t)
	for how, want := range map[string]struct {
		signal syscall.Signal
		words  []string
	}{
		"in a thread of TensorFlow": {syscall.SIGFPE, []string{"SIGFPE in thread \"tf_", "some words", "doctor", "Scatter"}},
		"in a thread of Go":         {syscall.SIGABRT, []string{"SIGSEGV", "goroutine 1"}},
		"while TensorFlow opens":    {syscall.SIGABRT, []string{"lost marbles", "goroutine 1"}},
		"by SIGQUIT":                {syscall.SIGABRT, []string{"SIGQUIT", "goroutine 1"}},
		"by SIGABRT":                {syscall.SIGABRT, []string{"SIGABRT", "goroutine 1"}},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if want.signal == syscall.SIGFPE && runtime.GOARCH != "amd64" {
				t.Skip("a division by zero is a fault on x86-64 only")
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=crash", "MILLRACE_TEST_CRASH="+how, "GOTRACEBACK=crash")
			said, err := cmd.CombinedOutput()
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || status.Signal() != want.signal {
				t.Errorf("it ended with %v: %v", status, err)
			}
			for _, words := range want.words {
				if n := strings.Count(string(said), words); n == 0 {
					t.Errorf("it does not say %q:\n%.3000s", words, said)
				}
			}
		})
	}
}
