package regularfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// ofKernel reports whether an open file is one that the kernel makes up, as those
// in /proc. They look regular, but reading one may block for ever, as /proc/kmsg
// does, or have effects.
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
