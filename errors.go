// Package millrace runs TensorFlow input pipelines and models from Go.
//
// This root package defines how all packages describe failures. Start with
// package loaders (datasets from a JSON config), package estimator (models over
// loaders), or packages graph and tfbridge (TensorFlow itself).
package millrace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Class is the kind of a failure. Callers branch on it with errors.Is(err,
// millrace.ErrCorrupt), and commands choose an exit code by it.
type Class string

// The classes of failure.
const (
	ErrConfig      Class = "config"       // a manifest, loader config, list file or flag is wrong
	ErrSchema      Class = "schema"       // a record is well-formed but does not match the manifest
	ErrCorrupt     Class = "corrupt data" // bytes are damaged
	ErrTruncated   Class = "truncated"    // a file or stream ends too early
	ErrLimit       Class = "limit"        // a size exceeds a limit or the available memory
	ErrModel       Class = "model"        // a model or signature is missing or broken, or does not match the config
	ErrUnsafeModel Class = "unsafe model" // a model holds operations that touch the host and are not allowed
	ErrCheckpoint  Class = "checkpoint"   // saved state is missing, broken or from another job
	ErrIO          Class = "i/o"          // the operating system refused
	ErrTransient   Class = "transient"    // trying again may help
	ErrOverloaded  Class = "overloaded"   // a server has too much to do and refuses work; trying again later may help
	ErrPeer        Class = "peer"         // another process of a cluster failed or did not answer; start all again
	ErrCanceled    Class = "canceled"     // the caller's context ended
	ErrClosed      Class = "closed"       // the object was closed
	ErrRuntime     Class = "runtime"      // libtensorflow is missing, of another version, or broken
	ErrInternal    Class = "internal"     // a bug in millrace: please report it
)

// Error makes a Class a target for errors.Is.
func (c Class) Error() string { return string(c) }

// Error is a failure with its place. Its text starts with the place: file,
// line or record, then key, feature or tensor, then what is wrong. Fields
// that do not apply are zero; Record and Offset are -1 where they do not.
type Error struct {
	Class     Class
	Op        string // the operation that failed: "read", "parse", "load model"
	Loader    string // path of the loader config
	Key       string // key path in a JSON file: "args.padding[0].tensor"
	File      string // data file, JSON file or model file
	Line      int    // line in File, from 1
	Column    int    // column in Line, from 1, in bytes
	Record    int64  // ordinal of the record in File, from 0
	Offset    int64  // byte offset in File (of the record's header), uncompressed
	Feature   string // feature of the record
	Signature string // signature of the model
	Tensor    string // tensor of the batch or the model
	Code      int    // TensorFlow's status code, 0 if none
	Msg       string // the problem, and what to do
	Err       error  // the cause
}

// Errorf returns an Error of a class with a message and no place. A %w verb
// sets the cause.
func Errorf(class Class, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	e := &Error{Class: class, Record: -1, Offset: -1, Msg: wrapped.Error()}
	if u, ok := wrapped.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}

// Canceled returns the error of work that ended because ctx did, with the cause
// of that. What names the work, as in "scan of data files"; it may be "".
func Canceled(ctx context.Context, what string) *Error {
	if what != "" {
		what += " "
	}
	return Errorf(ErrCanceled, "%scanceled: %w", what, context.Cause(ctx))
}

// Error returns the place and the message, on one line.
func (e *Error) Error() string {
	var b strings.Builder
	part := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	switch {
	case e.File != "" && e.Line > 0 && e.Column > 0:
		part("%s:%d:%d", Quote(e.File), e.Line, e.Column)
	case e.File != "" && e.Line > 0:
		part("%s:%d", Quote(e.File), e.Line)
	case e.File != "":
		part("%s", Quote(e.File))
	case e.Loader != "":
		part("%s", Quote(e.Loader))
	}
	if e.Record >= 0 && e.Offset >= 0 {
		part("record %d (offset %d)", e.Record, e.Offset)
	} else if e.Record >= 0 {
		part("record %d", e.Record)
	} else if e.Offset >= 0 {
		part("offset %d", e.Offset)
	}
	if e.Key != "" {
		part("%s", e.Key)
	}
	if e.Signature != "" {
		part("signature %q", e.Signature)
	}
	if e.Feature != "" {
		part("feature %q", e.Feature)
	}
	if e.Tensor != "" {
		part("tensor %q", e.Tensor)
	}
	switch {
	case e.Msg != "":
		part("%s", e.Msg)
	case e.Err != nil:
		part("%s", e.Err)
	default:
		part("%s", e.Class)
	}
	return b.String()
}

// Unwrap makes errors.Is and errors.As see the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}

// maxPath is the longest part of a path that a message shows, in bytes.
const maxPath = 4096

// Quote returns a path or name unchanged if every rune is printable, and quoted
// and escaped otherwise. So control characters and characters that change the
// order of text reach neither a terminal nor a log.
func Quote(s string) string {
	if len(s) > maxPath {
		s = s[:maxPath]
	}
	for _, r := range s {
		if r == '\uFFFD' || !strconv.IsPrint(r) {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// maxData is how many bytes of foreign data a message shows.
const maxData = 64

// QuoteData returns the first bytes of foreign data, quoted and escaped.
func QuoteData(b []byte) string {
	if len(b) > maxData {
		return fmt.Sprintf("%q...", b[:maxData])
	}
	return fmt.Sprintf("%q", b)
}
