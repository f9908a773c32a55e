package kernelfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Holds reports whether an open file is one of the kernel's.
func Holds(f *os.File) bool {
	var stat unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &stat) != nil {
		return false
	}
	switch stat.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return true
	}
	return false
}
