package install

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush writes the file system that holds dir to the disk, so that a power
// cut after the rename cannot leave empty files under the final name.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

// free returns the free bytes of the file system that contains dir.
func free(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}
