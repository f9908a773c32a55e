package ops

import (
	"errors"
	"io/fs"
	"os"

	"millrace"
)

// problem returns an error about a file or folder.
func problem(class millrace.Class, file, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.File = file
	return e
}

// ioError converts an error of package os to one with a class and a path.
func ioError(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return problem(millrace.ErrIO, p.Path, "%s: %w", p.Op, p.Err)
	case errors.As(err, &l):
		return problem(millrace.ErrIO, l.New, "%s: %w", l.Op, l.Err)
	}
	return millrace.Errorf(millrace.ErrIO, "%w", err)
}
