// Package scratch makes private folders that do not stay behind when a process is killed:
// the next process that makes one removes them. A lock on the folder says that it is in use.
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
	// Prefix is what the names of the folders begin with.
	Prefix = "millrace-model-"
	// StaleAfter is the age at which an unlocked folder counts as left behind.
	// The owner of a younger one may not have locked it yet.
	StaleAfter = time.Minute
)

// Folder is a private folder, in mode 0700.
type Folder struct {
	Path string
	lock *os.File
}

// New makes a folder in the folder for temporary files or, if that cannot be, in
// shared memory. It removes folders of processes that were killed.
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

// Close removes the folder and what is in it. It does not open the folder above, which a
// sandbox may hide.
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

// removeStale removes folders of this user's that no process has locked.
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

// removeUnlocked removes a folder if it is this user's and nobody holds its
// lock.
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
