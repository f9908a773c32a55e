package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/base/atomicfile"
)

// lockFile is locked while the contents of its directory change. It is never
// removed: otherwise two processes could lock two different files of that name.
const lockFile = ".lock"

// workPrefix is the prefix of the names of temporary directories. While we hold the
// lock, every other such directory is a leftover of a killed install.
const workPrefix = ".install-"

// poll is the time between two attempts to take a lock. We do not use a
// blocking flock, because a context cannot interrupt it.
const poll = 100 * time.Millisecond

// lock locks a directory. It waits for another process that holds the lock.
func lock(ctx context.Context, dir string, say func(string, ...any)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, ioError(err)
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for waited := false; ; waited = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, problem(millrace.ErrIO, f.Name(), "lock: %w", err)
		}
		if !waited {
			say("waiting for another install in %s", millrace.Quote(dir))
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, canceled(ctx, nil)
		case <-ticker.C:
		}
	}
}

// tidy is sweep for callers without the lock that have found nothing to do. It does nothing while another process
// holds the lock, and a failure does not matter.
func tidy(dir string) {
	left, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil || len(left) == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		sweep(dir)
	}
}

// sweep removes the leftovers of killed installs in dir. The caller holds the lock.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ioError(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), workPrefix) {
			continue
		}
		// The compilers of a killed build may be writing there still. Who sweeps later removes that.
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			return ioError(err)
		}
	}
	return nil
}

// publish renames the directory made to final in one step. A previous directory
// final ends up in work, which the caller removes.
func publish(made, final, work string) error {
	if err := flush(made); err != nil {
		return ioError(err)
	}
	return atomicfile.RenameFolder(made, final, filepath.Join(work, "old"))
}
