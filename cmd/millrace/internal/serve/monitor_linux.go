package serve

import (
	"syscall"
	"time"
)

const canNap = true

// nap sleeps in the kernel, without giving the scheduler's processor away. A signal ends it early.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
