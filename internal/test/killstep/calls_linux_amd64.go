package killstep

import "golang.org/x/sys/unix"

// olderChanges are calls that newer architectures lack, and that C libraries still make.
var olderChanges = []uint32{unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_CREAT}
