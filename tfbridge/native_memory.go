//go:build cgo

package tfbridge

// #include "trim.h"
import "C"

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// # Tensors that are never closed
//
// The question. Go's collector starts when the Go heap has grown by GOGC percent. A
// fetched tensor of 1 MB is 176 bytes of Go heap: thousands of unreachable tensors, and
// gigabytes of C memory, may wait for a collection. How do we make the collector run in
// time?
//
// Go has no call that says "this object holds n bytes elsewhere". So we do for
// C memory what Go's pacer does for its heap. We count the bytes of all tensors
// that are not freed, and start a collection when they have doubled since the
// last collection that we started:
//
//	bytes
//	 |                       /| collection: reachable tensors and garbage
//	 |        /|            / |
//	 | 2*base ------------ /--|------------ where the next one starts
//	 |      /  |          /   |
//	 |     /   | base ~~~/~~~~\____________ finalizers lower the count and base
//	 |    /     \_______/
//	 +-----------------------------------------> time
//
// The count that a collection leaves is the base. Finalizers run after the
// collection, so at its end the base still holds garbage. Each finalizer lowers
// both the count and the base by the bytes that it frees. When all finalizers
// have run, the base is what the program really holds.
//
// Close lowers the count only, not the base. So a program that closes its tensors, and
// whose count goes up and down, causes only one collection, until its count exceeds
// twice the base of that collection.
//
// This costs two atomic additions per tensor, and no lock or allocation.

// nativeFloor is the number of bytes that tensors may hold before we start a
// collection. Programs with few and small tensors are not affected.
const nativeFloor = 256 << 20

// nativeMemory counts the C memory of tensors, and starts collections.
type nativeMemory struct {
	bytes      atomic.Int64 // held by tensors that are not freed
	base       atomic.Int64 // part of bytes that the last collection left
	collecting atomic.Bool  // a collection that we started is in progress
	count      atomic.Int64 // collections started
}

// native counts the tensors of the process.
var native nativeMemory

// LiveBytes reports the number of bytes of C memory of the tensors that are not freed.
// Tensors that share memory count it once each. Memory of Go ([NewPinnedTensor]) does
// not count.
func LiveBytes() int64 { return native.bytes.Load() }

// add counts n more bytes, and starts a collection if it is due. A negative n counts
// fewer.
func (m *nativeMemory) add(n int64) {
	bytes := m.bytes.Add(n)
	if n > 0 && bytes > max(nativeFloor, 2*m.base.Load()) && m.collecting.CompareAndSwap(false, true) {
		go m.collect()
	}
}

// reaped records that a finalizer has freed n bytes.
func (m *nativeMemory) reaped(n int64) { m.base.Add(-n) }

// collect runs one collection.
func (m *nativeMemory) collect() {
	m.count.Add(1)
	runtime.GC()
	m.base.Store(m.bytes.Load())
	m.collecting.Store(false)
}

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
