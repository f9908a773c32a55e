// Package ops makes operations of a user's own: it writes a template, compiles
// it against the runtime's headers, and describes what a library registers. It
// is what the commands of "millrace ops" call.
package ops
