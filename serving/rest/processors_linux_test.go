package rest

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// startApart starts a process on all processors but the last, which this process keeps
// for itself from then on. So their threads do not displace each other, and a client
// measures only the server's times. If there is only one processor it starts the
// process as usual and returns false.
func startApart(t *testing.T, c *exec.Cmd) (apart bool) {
	t.Helper()
	var all, last unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if all.Count() < 2 {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return false
	}
	others := all
	for n := range 1024 {
		if all.IsSet(n) {
			last.Zero()
			last.Set(n)
		}
	}
	for n := range 1024 {
		if last.IsSet(n) {
			others.Clear(n)
		}
	}
	runtime.LockOSThread() // the process inherits what its first thread may use
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &others); err != nil {
		t.Fatal(err)
	}
	started := c.Start()
	useProcessors(t, &last)
	t.Cleanup(func() { useProcessors(t, &all) })
	if started != nil {
		t.Fatal(started)
	}
	return true
}

// useProcessors restricts all threads of this process to some processors.
func useProcessors(t *testing.T, set *unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH { // the thread may have ended
			t.Fatal(err)
		}
	}
}
