// Package leak finds what a test leaks: C objects, goroutines, threads, open files,
// temporary files, memory.
package leak

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Thread pools grow while they are used, and Go keeps the threads of calls that
// blocked. Only many rounds reveal a leak.
const moreThreads = 16

// patience is the time that goroutines, threads and files have to disappear.
const patience = 30 * time.Second

// counts are the numbers of a process's objects.
type counts struct {
	live       int64
	goroutines int
	threads    int
	files      int
}

// Check counts the objects of the process, now and at the end of the test. It
// fails the test if there are more at the end, or if a temporary file is left.
// live counts C objects; it may be nil. Objects that are set up once for the
// whole process must exist before the call.
func Check(t testing.TB, live func() int64) {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := count(live)
	t.Cleanup(func() {
		if err := before.exceeded(live); err != nil {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(tmp, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}

// exceeded returns an error if the process still has more objects than c after the
// patience.
func (c counts) exceeded(live func() int64) error {
	for end := time.Now().Add(patience); ; {
		now := count(live)
		if now.live <= c.live && now.goroutines <= c.goroutines && now.threads <= c.threads+moreThreads && now.files <= c.files {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("left behind: %+v, before %+v\n%s", now, c, stacks())
		}
		runtime.GC()
		runtime.Gosched()
	}
}

func count(live func() int64) counts {
	c := counts{goroutines: runtime.NumGoroutine() - ofThreads(stacks()), threads: entries("/proc/self/task"), files: entries("/proc/self/fd")}
	if live != nil {
		c.live = live()
	}
	return c
}

// entries returns the number of entries of a folder, 0 if the folder does not
// exist.
func entries(dir string) int {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(names)
}

// ofThreads returns the number of goroutines that represent threads of TensorFlow that
// have called Go. Go keeps one for each such thread while it lives, and it is random
// which threads of a pool call Go.
func ofThreads(stacks []byte) int {
	return bytes.Count(stacks, []byte(" locked to thread]:\nruntime.goexit("))
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// Resident returns the process's resident size in bytes. It skips the test on
// systems without /proc.
func Resident(t testing.TB) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// Growth measures the growth of the process's memory over many rounds.
type Growth struct {
	rounds  int
	settled int64 // resident size after the first fifth of the rounds
}

// NewGrowth returns a Growth for a number of rounds.
func NewGrowth(rounds int) *Growth { return &Growth{rounds: rounds} }

// Round is called after each round, from 0 on. Allocators settle in the first
// fifth of them.
func (g *Growth) Round(t testing.TB, i int) {
	t.Helper()
	if i == g.rounds/5 {
		g.settled = Resident(t)
	}
}

// Check fails the test if the resident size grew by more than slack bytes
// after the first fifth of the rounds.
func (g *Growth) Check(t testing.TB, slack int64) {
	t.Helper()
	if grown := Resident(t) - g.settled; grown > slack {
		t.Errorf("resident size grew by %d bytes over the last four fifths of %d rounds", grown, g.rounds)
	}
}

// Objects counts the C objects of the process and returns a function that fails the
// test if there are more when it is called. live counts them. Unlike [Check] it only
// counts C objects, and a test may call the returned function at any time.
//
// It has patience: a thread of TensorFlow that reads ahead may use the arguments of a
// callback, or a fed value, a moment longer than the test.
func Objects(t testing.TB, live func() int64) (check func()) {
	t.Helper()
	before := live()
	return func() {
		t.Helper()
		for end := time.Now().Add(patience); ; {
			more := live() - before
			if more <= 0 {
				return
			}
			if time.Now().After(end) {
				t.Errorf("%d C objects more than before", more)
				return
			}
			runtime.Gosched()
		}
	}
}
