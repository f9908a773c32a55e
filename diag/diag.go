// Package diag describes problems in a user's files: where each one is, what
// is wrong and what to do. It imports only the standard library.
package diag

import (
	"fmt"
	"strings"
)

// Severity is the severity of a problem.
type Severity int

// The severities. The zero value is Error.
const (
	Error   Severity = iota // the file cannot be used
	Warning                 // the file can be used, but maybe not as intended
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText makes JSON show a Severity by its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one problem in one file.
type Diagnostic struct {
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`   // from 1; 0 if the problem has no line
	Column   int      `json:"column,omitempty"` // from 1, in bytes; 0 if it has no column
	Key      string   `json:"key,omitempty"`    // key path: "args.padding[0].tensor"
	Msg      string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // advice, such as "did you mean \"audio\"?"
	Severity Severity `json:"severity"`
	Class    error    `json:"class,omitempty"` // the class for errors.Is; its text is the class's name
	Cause    error    `json:"-"`               // the cause for errors.As, such as an error of the operating system
}

// Place returns file, line and column, as far as known: "a.json:3:7".
func (d *Diagnostic) Place() string {
	switch {
	case d.Line > 0 && d.Column > 0:
		return fmt.Sprintf("%s:%d:%d", printable(d.File), d.Line, d.Column)
	case d.Line > 0:
		return fmt.Sprintf("%s:%d", printable(d.File), d.Line)
	}
	return printable(d.File)
}

// Error returns the problem on one line: location, key, message and hint.
func (d *Diagnostic) Error() string {
	parts := make([]string, 0, 4)
	if place := d.Place(); place != "" {
		parts = append(parts, place)
	}
	if d.Severity == Warning {
		parts = append(parts, "warning")
	}
	if d.Key != "" {
		parts = append(parts, printable(d.Key))
	}
	msg := d.Msg
	if d.Hint != "" {
		msg += "; " + d.Hint
	}
	return strings.Join(append(parts, msg), ": ")
}

// Unwrap makes errors.Is and errors.As see the class and the cause.
func (d *Diagnostic) Unwrap() []error {
	var errs []error
	if d.Class != nil {
		errs = append(errs, d.Class)
	}
	if d.Cause != nil {
		errs = append(errs, d.Cause)
	}
	return errs
}

// printable returns s unchanged if every rune is printable, and quoted
// otherwise. So a file's name cannot send control codes to a terminal.
func printable(s string) string {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || (r >= 0x80 && r < 0xa0) {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}
