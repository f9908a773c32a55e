package machine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// initialized is the time when this package was initialized, some milliseconds
// after the process started.
var initialized = time.Now()

// ticksPerSecond is the resolution of times in /proc. Linux has this constant
// for all user programs.
const ticksPerSecond = 100

// SinceStart returns how long this process has been running. The kernel records
// the start in ticks of 10 ms, rounded down, so the result is too large by up
// to 10 ms.
func SinceStart() time.Duration {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Since(initialized)
	}
	// The command's name is in parentheses and can contain anything, so count
	// fields from its end. starttime is field 22, the 20th after the name.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var now unix.Timespec
	if len(fields) < 20 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Since(initialized)
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return time.Since(initialized)
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*(time.Second/ticksPerSecond)
}

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
