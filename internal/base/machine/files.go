package machine

import (
	"os"

	"golang.org/x/sys/unix"
)

// OpenFiles returns the number of further files that the process may open, and the
// limit.
func OpenFiles() (free, limit int64) {
	limit = soft(unix.RLIMIT_NOFILE)
	used := 0
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(list)
	}
	return max(limit-int64(used), 0), limit
}
