package machine

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A Memory is how much memory the process can allocate.
type Memory struct {
	Bytes int64  // Unlimited if not known
	Bound string // what sets the bound: "the container allows"
}

// AvailableMemory returns the smallest of what the machine has left, what the
// process's control groups allow, and what ulimit -v allows.
func AvailableMemory() Memory {
	least := Memory{machineMemory(), "the machine has left"}
	if n := containerMemory("/proc/self/cgroup", "/sys/fs/cgroup"); n < least.Bytes {
		least = Memory{n, "the container allows"}
	}
	if n := AddressSpace(); n < least.Bytes {
		least = Memory{n, "ulimit -v leaves (it also counts addresses that are never used)"}
	}
	return least
}

// AddressSpace returns how many bytes of address space ulimit -v leaves the
// process. It returns Unlimited if there is no such limit.
func AddressSpace() int64 {
	limit := soft(unix.RLIMIT_AS)
	if limit == Unlimited {
		return Unlimited
	}
	used, _ := status("/proc/self/status", "VmSize")
	return max(limit-used, 0)
}

// PeakMemory returns the peak resident memory of this process in bytes, 0 if it
// is not known. We do not use getrusage, whose figure includes the process that
// started this one.
func PeakMemory() int64 {
	n, _ := status("/proc/self/status", "VmHWM")
	return n
}

// machineMemory returns the available memory of the machine in bytes.
func machineMemory() int64 {
	if n, ok := status("/proc/meminfo", "MemAvailable"); ok {
		return n
	}
	return Unlimited
}

// containerMemory returns the smallest memory limit of the process's control
// group and of the groups that contain it. It reads both versions of control
// groups.
func containerMemory(self, root string) int64 {
	least := int64(Unlimited)
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
		least = min(least, groupLimit(folder, parts[2], file))
	}
	return least
}

// groupLimit returns the smallest number in a file of a control group and of
// all groups above it.
func groupLimit(folder, group, file string) int64 {
	least := int64(Unlimited)
	for group = filepath.Clean("/" + group); ; group = filepath.Dir(group) {
		if n, ok := number(filepath.Join(folder, group, file)); ok {
			least = min(least, n)
		}
		if group == "/" {
			return least
		}
	}
}
