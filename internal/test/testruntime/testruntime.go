// Package testruntime skips tests loudly, or fails them, where libtensorflow
// is missing, and fails a test package that leaves C objects open.
//
// It does not import tfbridge, whose own tests use it. Packages above tfbridge
// have package tfmain call [Main].
package testruntime

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Env is the environment variable that, set to [Required], turns a missing
// runtime from a skip into a failure. The Makefile sets it.
const Env = "MILLRACE_TEST_RUNTIME"

// Required is the value of [Env] under which tests must not be skipped.
const Required = "required"

// Hooks are functions of package tfbridge that [Main] calls.
type Hooks struct {
	// Open opens the runtime; its error is the reason why there is none.
	Open func() error

	// Live counts the C objects that are open. nil: not checked.
	Live func() int64

	// Kinds counts the open objects by kind, for the message. nil: the message
	// only has the number.
	Kinds func() map[string]int64

	// Mixed declares that some tests of the package need no runtime. They always run;
	// the other tests call [Need] first. If Mixed is false and there is no runtime, no
	// test of the package runs.
	Mixed bool

	// Examples are the Example functions of a mixed package that need the
	// runtime. They cannot call [Need], so without a runtime they are skipped.
	Examples []string
}

// missing is the reason why there is no runtime. Main sets it before the tests
// run.
var missing error

// skipped counts the tests that Need skipped.
var skipped atomic.Int64

// Main runs the tests of a package and returns the exit code for os.Exit.
func Main(m *testing.M, h Hooks) int {
	missing = h.Open()
	if missing != nil {
		if os.Getenv(Env) == Required {
			fmt.Fprintf(os.Stderr, "FAIL: no runtime, and %s=%s: %v\n", Env, Required, missing)
			return 1
		}
		if !h.Mixed {
			fmt.Fprintf(os.Stderr, "SKIP: %d tests need the runtime: %v\n", count(m), missing)
			return 0
		}
		if err := skipExamples(h.Examples); err != nil {
			fmt.Fprintf(os.Stderr, "FAIL: %v\n", err)
			return 1
		}
	}
	code := m.Run()
	if n := skipped.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "SKIP: %d tests need the runtime: %v\n", n, missing)
	}
	if err := leaked(h); err != nil {
		fmt.Fprintf(os.Stderr, "FAIL: %v\n", err)
		return max(code, 1)
	}
	return code
}

// oneDNN is the variable of the environment that turns TensorFlow's use of oneDNN on and off.
const oneDNN = "TF_ENABLE_ONEDNN_OPTS"

// WithoutOneDNN turns oneDNN off, unless the environment sets it. Call it before [Main] in a
// package whose tests run datasets and no models. Whenever a graph or a function of a dataset
// starts, TensorFlow searches all kernels for oneDNN's, which are for matrices and images. In
// small pipelines that takes a third of the processor time.
func WithoutOneDNN() error {
	if _, set := os.LookupEnv(oneDNN); set {
		return nil
	}
	return os.Setenv(oneDNN, "0")
}

// skipExamples makes m.Run skip examples, in addition to the tests that the
// user skips.
func skipExamples(names []string) error {
	if len(names) == 0 {
		return nil
	}
	flag.Parse()
	skip := "^(" + strings.Join(names, "|") + ")$"
	if given := flag.Lookup("test.skip").Value.String(); given != "" {
		skip = given + "|" + skip
	}
	skipped.Add(int64(len(names)))
	return flag.Set("test.skip", skip)
}

// Need skips the test if [Main] found no runtime.
func Need(t testing.TB) {
	t.Helper()
	if missing != nil {
		skipped.Add(1)
		t.Skipf("needs the runtime: %v", missing)
	}
}

// collections is the number of runs of the garbage collector before an open object
// counts as leaked. One run is not enough, because an owner may only be reachable from
// another owner.
const collections = 20

// leaked collects garbage until no object is open, and returns an error if some
// remain.
func leaked(h Hooks) error {
	if h.Live == nil {
		return nil
	}
	for range collections {
		if h.Live() == 0 {
			return nil
		}
		collect()
	}
	return fmt.Errorf("%d C objects still open after the tests%s", h.Live(), kinds(h))
}

// collect runs the garbage collector and waits for cleanups to run.
func collect() {
	ran := make(chan struct{})
	var once sync.Once
	runtime.AddCleanup(new([64]byte), func(int) { once.Do(func() { close(ran) }) }, 0)
	runtime.GC()
	select {
	case <-ran:
	case <-time.After(time.Second): // Go does not define when a cleanup runs
	}
}

func kinds(h Hooks) string {
	if h.Kinds == nil {
		return ""
	}
	var b strings.Builder
	open := h.Kinds()
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		if open[kind] != 0 {
			fmt.Fprintf(&b, "; %s: %d", kind, open[kind])
		}
	}
	return b.String()
}

// count returns the number of tests, examples and fuzz targets of the package, as
// listed by package testing.
func count(m *testing.M) int {
	r, w, err := os.Pipe()
	if err != nil {
		return 0
	}
	out := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		out <- string(b)
	}()
	stdout := os.Stdout
	os.Stdout = w
	list(m)
	os.Stdout = stdout
	w.Close()
	return strings.Count(<-out, "\n")
}

// list prints the package's tests to standard output instead of running them.
func list(m *testing.M) {
	if !flag.Parsed() {
		flag.Parse()
	}
	if flag.Set("test.list", "^(Test|Example|Fuzz)") == nil {
		m.Run()
	}
}
