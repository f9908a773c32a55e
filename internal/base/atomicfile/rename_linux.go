package atomicfile

import "golang.org/x/sys/unix"

// The flags of renameat2.
const (
	noReplace = unix.RENAME_NOREPLACE
	exchange  = unix.RENAME_EXCHANGE
)

func renameat2(from, to string, flags uint) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
}
