package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"millrace/internal/figures"
)

// What a process that reads files in parallel needs at least.
const (
	fewestDescriptors = 32  // TensorFlow ends the process without some
	goodDescriptors   = 256 // files read at a time, and those of the libraries
	leastMemory       = 512 << 20
	goodMemory        = 2 << 30
)

// descriptors checks how many files may be opened.
func (d *diagnosis) descriptors() {
	const check, remedy = "open files", "raise the limit: ulimit -n 4096"
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		d.add(check, stateWarn, "", "the limit is not known: %v", err)
		return
	}
	used := 0
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(list)
	}
	free := int64(min(limit.Cur, math.MaxInt32)) - int64(used)
	switch {
	case free < fewestDescriptors:
		d.add(check, stateFail, remedy, "only %d more can be opened, of %d; TensorFlow ends the process when there are none", free, limit.Cur)
	case free < goodDescriptors:
		d.add(check, stateWarn, remedy, "only %d more can be opened, of %d", free, limit.Cur)
	default:
		d.add(check, stateOK, "", "%s more can be opened", figures.Count(free))
	}
}

// memory checks how much memory the process can have: what the machine has
// left, what its container allows, and what the shell does.
func (d *diagnosis) memory() {
	const check = "memory"
	least, of := availableMemory(), "the machine has left"
	if n := containerMemory("/proc/self/cgroup", "/sys/fs/cgroup"); n < least {
		least, of = n, "the container allows"
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && limit.Cur < uint64(least) {
		least, of = int64(limit.Cur), "ulimit -v allows, which counts addresses that are never used"
	}
	if least == math.MaxInt64 {
		d.add(check, stateWarn, "", "how much there is is not known")
		return
	}
	const remedy = "end other programs, or raise the limit"
	switch {
	case least < leastMemory:
		d.add(check, stateFail, remedy, "%s are all that %s; TensorFlow alone takes some 300 MB", figures.Size(least), of)
	case least < goodMemory:
		d.add(check, stateWarn, remedy, "%s are all that %s", figures.Size(least), of)
	default:
		d.add(check, stateOK, "", "%s that %s", figures.Size(least), of)
	}
}

// availableMemory returns what the machine has left, the largest number if
// that is not known.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return math.MaxInt64
}

// containerMemory returns the smallest limit of the process's control group
// and those it is in, the largest number if there is none. Both versions of
// control groups are read.
func containerMemory(self, root string) int64 {
	least := int64(math.MaxInt64)
	groups, err := os.ReadFile(self)
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, file := root, "memory.max"
		if parts[1] == "memory" {
			folder, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			text, err := os.ReadFile(filepath.Join(folder, group, file))
			if err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" is none
					least = min(least, n)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}
