package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A ThreadLimit is a number of further threads that the process can start.
type ThreadLimit struct {
	Free  int64  // Unlimited if there is no limit
	Bound string // the source of the limit: "ulimit -u"
}

// Threads returns the number of further threads that ulimit -u or the process's control
// groups allow, whichever is less. ulimit -u counts all threads of the user and does
// not apply to root.
func Threads() ThreadLimit {
	least := ThreadLimit{Unlimited, ""}
	if limit := soft(unix.RLIMIT_NPROC); limit != Unlimited && os.Geteuid() != 0 {
		least = ThreadLimit{max(limit-userThreads("/proc", os.Getuid()), 0), "ulimit -u"}
	}
	if n := groupThreads("/proc/self/cgroup", "/sys/fs/cgroup"); n < least.Free {
		least = ThreadLimit{n, "the container"}
	}
	return least
}

// userThreads counts the threads of a user's processes.
func userThreads(proc string, uid int) int64 {
	n := int64(0)
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		info, err := os.Stat(filepath.Join(proc, e.Name()))
		if err != nil {
			continue // the process has ended
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != uid {
			continue
		}
		threads, _ := status(filepath.Join(proc, e.Name(), "status"), "Threads")
		n += threads
	}
	return n
}

// groupThreads returns the number of further threads that the process's control group
// and the groups that contain it allow.
func groupThreads(self, root string) int64 {
	least := int64(Unlimited)
	for folder := range groups(self, root, "pids") {
		limit, limited := number(filepath.Join(folder, "pids.max"))
		used, known := number(filepath.Join(folder, "pids.current"))
		if limited && known {
			least = min(least, max(limit-used, 0))
		}
	}
	return least
}
