package runtimedir

import (
	"io/fs"

	"millrace"
)

// problem returns an error about a file.
func problem(class millrace.Class, file, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.File = file
	return e
}

// cause removes the path from an error. The caller states the place itself.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
