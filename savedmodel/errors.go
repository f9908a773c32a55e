package savedmodel

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"millrace"
)

// maxNames is how many names a message lists.
const maxNames = 8

// fail returns an error about the protobuf of the model.
func (r *reader) fail(format string, args ...any) *millrace.Error {
	return failAt(r.file, format, args...)
}

// limit returns an error about a size that is over a limit.
func (r *reader) limit(format string, args ...any) error {
	e := r.fail(format, args...)
	e.Err = millrace.ErrLimit
	return e
}

// failAt returns an error about a file of the model.
func failAt(file, format string, args ...any) *millrace.Error {
	return &millrace.Error{Class: millrace.ErrModel, Op: "read model", File: file, Record: -1, Offset: -1,
		Msg: fmt.Sprintf(format, args...)}
}

// failIO returns an error for what the operating system said about a file.
func failIO(file string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is in the error already
	}
	e := failAt(file, "%v", err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Msg, e.Err = "there is no such file", err
	default:
		e.Err = errors.Join(millrace.ErrIO, err)
	}
	return e
}

// corrupt returns an error about a file whose bytes are damaged.
func corrupt(file, format string, args ...any) *millrace.Error {
	e := failAt(file, format, args...)
	e.Err = millrace.ErrCorrupt
	return e
}

// corruptAt is corrupt with the place of the damage.
func corruptAt(file string, offset int64, format string, args ...any) *millrace.Error {
	e := corrupt(file, format, args...)
	e.Offset = offset
	return e
}

// quote quotes a name from a model.
func quote(name string) string { return millrace.QuoteData([]byte(name)) }

// quoteAll quotes names.
func quoteAll(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, quote(n))
	}
	return out
}

// shortList joins the first of some phrases.
func shortList(all []string) string {
	switch n := len(all); {
	case n == 0:
		return "none"
	case n > maxNames:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), n-maxNames)
	}
	return strings.Join(all, ", ")
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// What is wrong with a model is one of three things here. A model that is damaged
// or that TensorFlow cannot load is an error. So is one that the policy refuses,
// unless Options.Unchecked is set: then the refusal is noted, and reading goes on.
// What is merely odd is a warning.

// warn notes something odd that keeps nobody from using the model.
func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, r.fail(format, args...))
}

// tolerate returns nil for a refusal by the policy if Options.Unchecked is set,
// and notes it. It returns all other errors.
func (r *reader) tolerate(err error) error {
	if r.options.Unchecked && errors.Is(err, millrace.ErrUnsafeModel) {
		r.refused = append(r.refused, err)
		return nil
	}
	return err
}

// tolerateAny does the same for every error.
func (r *reader) tolerateAny(err error) error {
	if err != nil && r.options.Unchecked {
		r.refused = append(r.refused, err)
		return nil
	}
	return err
}
