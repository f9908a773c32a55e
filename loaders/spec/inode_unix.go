//go:build unix

package spec

import (
	"io/fs"
	"syscall"
)

// fileID identifies a file independently of its path.
type fileID struct{ device, inode uint64 }

// identify returns the identity of a file if the operating system knows it.
func identify(info fs.FileInfo) (fileID, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(s.Dev), uint64(s.Ino)}, true
}
