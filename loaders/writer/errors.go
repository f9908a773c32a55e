package writer

import (
	"io/fs"
	"os"

	"millrace"
	"millrace/remote"
)

// ioError describes a failure of the operating system.
func ioError(op, path string, cause error) error {
	if remote.IsURL(path) {
		return cause // package remote has described it
	}
	for {
		switch e := cause.(type) {
		case *fs.PathError:
			cause = e.Err
			continue
		case *os.LinkError:
			cause = e.Err
			continue
		case *millrace.Error:
			if e.Err != nil {
				cause = e.Err
				continue
			}
		}
		e := millrace.Errorf(millrace.ErrIO, "%s: %w", op, cause)
		e.Op, e.File = op, path
		return e
	}
}
