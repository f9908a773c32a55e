package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// serverProcessor is the processor of servers that are started from now on; nil: any.
var serverProcessor *unix.CPUSet

// pinClient gives this process the last of its processors, and servers that start from now on the first
// one, until restore is called. With one processor only it does nothing.
func pinClient() (restore func(), err error) {
	var all, first, last unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	if all.Count() < 2 {
		return func() {}, nil
	}
	for n := range 1024 {
		if !all.IsSet(n) {
			continue
		}
		if first.Count() == 0 {
			first.Set(n)
		}
		last.Zero()
		last.Set(n)
	}
	serverProcessor = &first
	return func() { serverProcessor = nil; useProcessors(&all) }, useProcessors(&last)
}

// startPinned starts a server on its processor. A process inherits the processors of the thread that
// starts it.
func startPinned(c *exec.Cmd) error {
	if serverProcessor == nil {
		return c.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, serverProcessor); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &mine)
	return c.Start()
}

// useProcessors has all threads of this process use some processors only.
func useProcessors(set *unix.CPUSet) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH { // the thread may have ended
			return err
		}
	}
	return nil
}

// dropFromCache removes a file from the page cache.
func dropFromCache(file *os.File) error {
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
