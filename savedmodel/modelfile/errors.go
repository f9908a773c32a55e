package modelfile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"millrace"
)

// maxNames is the maximum number of names in a message.
const maxNames = 8

// Fail returns an error about a file of the model.
func Fail(file, format string, args ...any) *millrace.Error {
	return &millrace.Error{Class: millrace.ErrModel, Op: "read model", File: file, Record: -1, Offset: -1,
		Msg: fmt.Sprintf(format, args...)}
}

// FailIO returns an error for an error of the operating system about a file.
func FailIO(file string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is in the error already
	}
	e := Fail(file, "%v", err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Msg, e.Err = "there is no such file", err
	default:
		e.Err = errors.Join(millrace.ErrIO, err)
	}
	return e
}

// Corrupt returns an error about a file whose bytes are damaged.
func Corrupt(file, format string, args ...any) *millrace.Error {
	e := Fail(file, format, args...)
	e.Err = millrace.ErrCorrupt
	return e
}

// CorruptAt is Corrupt with the location of the damage.
func CorruptAt(file string, offset int64, format string, args ...any) *millrace.Error {
	e := Corrupt(file, format, args...)
	e.Offset = offset
	return e
}

// Quote quotes a name from a model.
func Quote(name string) string { return millrace.QuoteData([]byte(name)) }

// QuoteAll quotes names.
func QuoteAll(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, Quote(n))
	}
	return out
}

// ShortList joins the first of some phrases.
func ShortList(all []string) string {
	switch n := len(all); {
	case n == 0:
		return "none"
	case n > maxNames:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), n-maxNames)
	}
	return strings.Join(all, ", ")
}
