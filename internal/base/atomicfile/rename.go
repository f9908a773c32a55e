package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Rename gives a complete file or folder its name. A file replaces a regular file or a
// symbolic link to one, a folder replaces an empty folder. Anything else with that name
// stays, and is an error of class millrace.ErrIO that names to. Rename syncs nothing.
func Rename(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return failure(to, err)
	}
	if info.IsDir() {
		return failure(to, syscall.Rename(from, to)) // os.Rename does not replace an empty folder
	}
	if err := replaceable(to); err != nil {
		return err
	}
	return failure(to, os.Rename(from, to))
}

// RenameNew is Rename for a name that must be unused. The error wraps fs.ErrExist if it
// is used.
func RenameNew(from, to string) error {
	err := renameat2(from, to, noReplace)
	if !lacks(err) {
		return failure(to, err)
	}
	if _, err := os.Lstat(to); err == nil {
		return failure(to, fs.ErrExist)
	}
	return failure(to, os.Rename(from, to))
}

// RenameFolder gives a complete folder its name. If a folder or a file already has that
// name, the two exchange names, so that from is then the old one. If the file system
// cannot exchange names, the old one is renamed to aside, which must be unused.
func RenameFolder(from, to, aside string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.ENOTDIR) {
		return failure(to, err)
	}
	err = renameat2(from, to, exchange)
	if !lacks(err) {
		return failure(to, err)
	}
	return failure(to, moveAside(from, to, aside))
}

// moveAside is RenameFolder in two steps. If the second fails the first is undone.
func moveAside(from, to, aside string) error {
	if err := os.Rename(to, aside); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(aside, to))
	}
	return nil
}

// lacks reports whether the file system or the kernel does not support a kind of
// rename.
func lacks(err error) bool { return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) }
