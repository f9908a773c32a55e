package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"millrace/internal/base/regularfile"
)

// lock is a folder's lock. The system releases it at the end of the process, even after
// a crash.
type lock struct{ file *os.File }

// acquire locks a folder against other processes that train in it.
func acquire(dir string) (*lock, error) {
	name := filepath.Join(dir, ".lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, failure(dir, "cannot be written to", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, failure(name, "lock", err)
		}
		owner, _ := regularfile.ReadFile(name, regularfile.TextBytes)
		return nil, refusal(dir, "locked by %s, which trains here; wait for its end, or name another folder", cmp.Or(string(owner), "another process"))
	}
	f.Truncate(0) // the holder's name is only for messages, so errors do not matter
	fmt.Fprintf(f, "process %d", os.Getpid())
	return &lock{f}, nil
}

// Close releases the lock.
func (l *lock) Close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
