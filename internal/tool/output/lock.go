package output

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"millrace"
)

// maxBase is the longest file name that a temporary name can extend: file
// systems allow 255 bytes.
const maxBase = 200

// temporary returns the name under which path is written. It depends on the
// path only, so that a job reuses the temporary file that a killed job left
// behind.
func temporary(path string) string {
	dir, base := filepath.Split(path)
	if len(base) > maxBase {
		h := fnv.New64a()
		h.Write([]byte(base))
		base = fmt.Sprintf("%s-%x", base[:maxBase-20], h.Sum64())
	}
	return filepath.Join(dir, "."+base+".millrace-part")
}

// lock opens the temporary file of path, empty and locked by this process.
func lock(path string) (*os.File, error) {
	name := temporary(path)
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, openError(path, err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			return nil, lockError(path, name, err)
		}
		// The job before may have renamed or removed the file between the
		// open and the lock.
		if same, err := isAt(f, name); err != nil || !same {
			f.Close()
			if err != nil {
				return nil, openError(path, err)
			}
			continue
		}
		if err := f.Truncate(0); err != nil {
			os.Remove(name)
			f.Close()
			return nil, openError(path, err)
		}
		return f, nil
	}
}

// isAt reports whether name still leads to the open file f.
func isAt(f *os.File, name string) (bool, error) {
	here, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(here, there), err
}

// openError describes why the temporary file of an output cannot be opened.
func openError(path string, cause error) error {
	dir := filepath.Dir(path)
	what := "cannot be created"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		what = fmt.Sprintf("folder %s does not exist; make it first", millrace.Quote(dir))
	}
	var pe *os.PathError
	if errors.As(cause, &pe) {
		cause = pe.Err
	}
	err := millrace.Errorf(millrace.ErrIO, "%s: %w", what, cause)
	err.Op, err.File = "create", path
	return err
}

// lockError describes an output that another process is writing.
func lockError(path, name string, cause error) error {
	if !errors.Is(cause, unix.EWOULDBLOCK) {
		return openError(path, cause)
	}
	err := millrace.Errorf(millrace.ErrIO, "another process is writing this output (it holds %s): %w", millrace.Quote(name), cause)
	err.Op, err.File = "lock", path
	return err
}
