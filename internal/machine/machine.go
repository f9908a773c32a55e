// Package machine says what the system allows this process: memory, open
// files, threads; and what it has used so far.
package machine

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited is the amount of something that has no limit.
const Unlimited = math.MaxInt64

// soft returns a soft limit of the process, Unlimited if there is none or it
// is not known.
func soft(resource int) int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil {
		return Unlimited
	}
	return int64(min(limit.Cur, Unlimited))
}

// status returns a number of /proc/self/status, or of a file like it, and
// whether it is there.
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
