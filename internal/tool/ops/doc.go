// Package ops helps users to write their own operations: it writes a template, compiles
// it against the runtime's headers, and describes the operations of a library. The
// commands of "millrace ops" call it.
package ops
