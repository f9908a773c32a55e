package install

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"millrace"
)

// canceled returns the cause of a canceled context instead of the error that the
// cancellation caused.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return millrace.Canceled(ctx, "installation of the runtime")
	}
	return err
}

// problem returns an error about a file.
func problem(class millrace.Class, file, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.File = file
	return e
}

// ioError converts an error of package os to one with a class and a path.
func ioError(err error) error {
	var known *millrace.Error
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &p):
		return problem(millrace.ErrIO, p.Path, "%s: %w", p.Op, p.Err)
	case errors.As(err, &l):
		return problem(millrace.ErrIO, l.New, "%s: %w", l.Op, l.Err)
	}
	return millrace.Errorf(millrace.ErrIO, "%w", err)
}
