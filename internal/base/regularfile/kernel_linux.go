package regularfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// ofKernel reports whether the kernel generates an open file, as in /proc. Such files
// look regular, but reading one may block forever, as /proc/kmsg does, or have side
// effects.
func ofKernel(f *os.File) bool {
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
