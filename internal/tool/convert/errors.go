package convert

import (
	"errors"
	"fmt"
	"io/fs"

	"millrace"
	"millrace/loaders/spec"
)

// inputError is a mistake in the arguments that name inputs.
func inputError(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.File = path
	return e
}

// dataError is a mistake in an input.
func dataError(path, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrSchema, format, args...)
	if errors.Is(e.Err, millrace.ErrLimit) {
		e.Class = millrace.ErrLimit
	}
	e.File = path
	return e
}

func ioError(path string, err error) error {
	var known *millrace.Error
	if errors.As(err, &known) && known.File != "" {
		return err // a store's
	}
	if e, ok := err.(*fs.PathError); ok {
		err = e.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", err)
	e.File = path
	return e
}

// cellError adds the row and the column of a file to an error.
func cellError(path string, row int64, column string, cause error) error {
	class := millrace.ErrSchema
	if errors.Is(cause, millrace.ErrLimit) {
		class = millrace.ErrLimit
	}
	e := millrace.Errorf(class, "row %d, column %s: %w", row, millrace.QuoteData([]byte(column)), cause)
	e.File = path
	return e
}

// textError is the error about a text that is not a number.
func textError(text string, stored spec.Kind, why error) error {
	if why != nil {
		return fmt.Errorf("%s %w", millrace.QuoteData([]byte(text)), why)
	}
	what := map[spec.Kind]string{spec.Int: "an integer", spec.Float: "a number"}[stored]
	return fmt.Errorf("%s is not %s", millrace.QuoteData([]byte(text)), what)
}
