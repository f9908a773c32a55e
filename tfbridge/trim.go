//go:build cgo

package tfbridge

// #include "trim.h"
import "C"

import "runtime/debug"

// ReleaseMemory returns free memory to the system: Go's, and with glibc also C's heaps. It
// takes as long as a collection of Go and some milliseconds. Other calls may run at the
// same time.
//
// The loading of a large model frees much memory in pieces, which glibc keeps for later
// allocations of the same thread.
func ReleaseMemory() {
	debug.FreeOSMemory()
	C.mr_trim()
}
