package machine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// initialized is when the Go runtime reached this package: later than the
// process's start by the loading of the program, some milliseconds.
var initialized = time.Now()

// ticksPerSecond is the unit of times in /proc, which Linux fixes for user
// space.
const ticksPerSecond = 100

// SinceStart returns how long this process has been running. The kernel notes
// its start in ticks of 10 ms, rounded down, so that the result is too long by
// up to that.
func SinceStart() time.Duration {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Since(initialized)
	}
	// The fields after the command's name, which is in parentheses and can
	// hold anything; starttime is the 22nd of all, the 20th after the name.
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
