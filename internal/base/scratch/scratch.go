// Package scratch makes private folders that do not pile up when processes are killed:
// the next process that makes a folder removes stale ones. A lock on a folder marks it
// as in use.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Prefix is the prefix of the folders' names.
	Prefix = "millrace-model-"
	// StaleAfter is the age at which an unlocked folder counts as stale. The owner of a
	// younger one may not have locked it yet.
	StaleAfter = time.Minute
)

// Folder is a private folder, in mode 0700.
type Folder struct {
	Path string
	lock *os.File
}

// New makes a folder in the folder for temporary files or, if that fails, in shared
// memory. It removes the folders of killed processes.
func New() (*Folder, error) {
	var failed error
	for _, parent := range []string{os.TempDir(), "/dev/shm"} {
		removeStale(parent)
		dir, err := os.MkdirTemp(parent, Prefix)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		return lock(dir)
	}
	return nil, failed
}

// lock locks a new folder.
func lock(dir string) (*Folder, error) {
	f := &Folder{Path: dir}
	var err error
	if f.lock, err = os.Open(dir); err == nil {
		err = unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close removes the folder and its contents. It does not open the parent folder, which
// a sandbox may hide.
func (f *Folder) Close() error {
	entries, err := os.ReadDir(f.Path)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(f.Path, e.Name())))
	}
	err = errors.Join(err, os.Remove(f.Path))
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// removeStale removes this user's folders that no process has locked.
func removeStale(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > StaleAfter {
			removeUnlocked(filepath.Join(parent, e.Name()), info)
		}
	}
}

// removeUnlocked removes a folder if this user owns it and no process holds its lock.
func removeUnlocked(dir string, info fs.FileInfo) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		os.RemoveAll(dir)
	}
}
