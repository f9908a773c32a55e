// Package machine reports the memory, open files and threads that the system
// allows this process, and the memory and time that the process has used.
package machine

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited stands for the absence of a limit.
const Unlimited = math.MaxInt64

// soft returns a soft limit of the process. It returns Unlimited if there is no
// limit or the limit is not known.
func soft(resource int) int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil {
		return Unlimited
	}
	return int64(min(limit.Cur, Unlimited))
}

// status returns the number of a key in /proc/self/status, or in a file of that
// format, and whether the file has the key.
func status(file, key string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		rest, found := bytes.CutPrefix(line, []byte(key+":"))
		if !found {
			continue
		}
		fields := strings.Fields(string(rest))
		if len(fields) == 0 {
			return 0, false
		}
		if n, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
			return 0, false
		}
		if len(fields) == 2 && fields[1] == "kB" {
			n <<= 10
		}
		return n, true
	}
	return 0, false
}
