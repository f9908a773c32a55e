package machine

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Memory is an amount of memory that the process can allocate.
type Memory struct {
	Bytes int64  // Unlimited if unknown
	Bound string // source of the bound: "the container allows"
}

// AvailableMemory returns the smallest of the machine's available memory, the limit of
// the process's control groups, and the limit of ulimit -v.
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

// MaxMemory returns the memory of the machine, or the limit of the process's control
// groups if that is less. It returns Unlimited if neither is known.
func MaxMemory() int64 {
	n, ok := status("/proc/meminfo", "MemTotal")
	if !ok {
		n = Unlimited
	}
	return min(n, containerMemory("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// AddressSpace returns the number of bytes of address space that ulimit -v leaves the
// process. It returns Unlimited if there is no such limit.
func AddressSpace() int64 {
	limit := soft(unix.RLIMIT_AS)
	if limit == Unlimited {
		return Unlimited
	}
	used, _ := status("/proc/self/status", "VmSize")
	return max(limit-used, 0)
}

// DataSpace returns the number of bytes of private memory, in use or not, that ulimit -d
// leaves the process. It returns Unlimited if there is no such limit.
func DataSpace() int64 {
	limit := soft(unix.RLIMIT_DATA)
	if limit == Unlimited {
		return Unlimited
	}
	used, _ := status("/proc/self/status", "VmData")
	return max(limit-used, 0)
}

// PeakMemory returns the peak resident memory of this process in bytes, 0 if it is
// unknown. We do not use getrusage, whose figure includes the process that started this
// one.
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
// group and of the groups that contain it.
func containerMemory(self, root string) int64 {
	least := int64(Unlimited)
	for folder, v1 := range groups(self, root, "memory") {
		file := "memory.max"
		if v1 {
			file = "memory.limit_in_bytes"
		}
		if n, ok := number(filepath.Join(folder, file)); ok {
			least = min(least, n)
		}
	}
	return least
}
