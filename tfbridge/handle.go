//go:build cgo

package tfbridge

import (
	"runtime"
	"sync/atomic"
)

// kind is the kind of object that a handle owns, for LiveKinds.
type kind int

const (
	kindTensor kind = iota
	kindGraph
	kindFunction
	kindSession
	kindPin // Go memory that TensorFlow uses
	kindPartialRun
	kindContext
	kindTensorHandle
	kindCallback // not a C object, but registered with C
	kinds
)

// kindNames are the keys of LiveKinds.
var kindNames = [kinds]string{"tensor", "graph", "function", "session", "pinned memory", "partial run", "context", "tensor handle", "callback"}

var (
	live   [kinds]atomic.Int64
	leaked atomic.Int64
)

// Live reports how many C objects are open. Tests check that it returns to zero.
func Live() int64 {
	var n int64
	for k := range live {
		n += live[k].Load()
	}
	return n
}

// LiveKinds reports how many C objects of each kind are open, such as "tensor". Kinds
// without open objects are omitted.
func LiveKinds() map[string]int64 {
	m := map[string]int64{}
	for k := range live {
		if n := live[k].Load(); n != 0 {
			m[kindNames[k]] = n
		}
	}
	return m
}

// Leaked reports how many C objects the garbage collector has freed because they were
// never closed. Each one is a bug in the program.
func Leaked() int64 { return leaked.Load() }

// # Who frees a C object, and when
//
// Three parties may want an object gone, or need it, at the same time: its user
// calls Close, the garbage collector finds the Go value unreachable, and a call
// into C still uses the object in another goroutine.
//
// A handle counts references. The owner has one from the start, and every call that may
// overlap with Close takes one with hold and gives it back with release. Close gives
// the owner's reference back, once. Giving back the last reference frees the object:
//
//	refs  1            2             1                0
//	      own    hold (a call)   Close            release: free
//	      |------------|-------------|----------------|
//
// A call that cannot overlap with Close, because the caller of a method holds
// the only Go value, uses ptr instead, and runtime.KeepAlive until the C call
// has returned. Without it the collector could free the object during the call.
//
// The collector is a safety net for objects that were never closed. runtime.AddCleanup
// calls reap when the owner, a Tensor's Go value for example, is unreachable. The
// cleanup's argument must not refer to the owner, or the owner would stay reachable.
// This is why the handle is a separate allocation from its owner. Tensors are an
// exception: they use a finalizer (docs/rationale.md).

// handle owns one C object of pointer type P.
type handle[P any] struct {
	p       P
	kind    kind
	free    freer[P]
	closed  atomic.Bool
	refs    atomic.Int64 // 1 for the owner until Close
	cleanup runtime.Cleanup
	id      uint64 // number in the profile of handles; 0: not recorded
	bytes   int64  // bytes of C memory that LiveBytes counts; 0 except for tensors
}

// freer frees a C object. It is an interface instead of a function, because
// reflect.DeepEqual must find two tensors equal (see Tensor), but never finds two
// functions equal.
type freer[P any] interface{ free(P) }

// freeFunc is a freer that is a function.
type freeFunc[P any] func(P)

func (f freeFunc[P]) free(p P) { f(p) }

// start makes h own p.
func (h *handle[P]) start(k kind, p P, free freer[P]) {
	h.p, h.kind, h.free = p, k, free
	h.refs.Store(1)
	live[k].Add(1)
	h.id = profileHandle()
}

// own makes owner responsible for p. Close frees p, or else the garbage collector
// does when owner is unreachable.
func own[O, P any](owner *O, k kind, p P, free func(P)) *handle[P] {
	h := new(handle[P])
	h.start(k, p, freeFunc[P](free))
	h.cleanup = runtime.AddCleanup(owner, reap[P], h)
	return h
}

// reap is the cleanup of an owner that is unreachable.
func reap[P any](h *handle[P]) {
	if !h.closed.Load() {
		leaked.Add(1)
		h.Close()
	}
}

// Close frees the C object at once, or when the last call that uses it returns. Later
// calls do nothing.
func (h *handle[P]) Close() error {
	if h.markClosed() {
		h.cleanup.Stop() // otherwise every closed owner costs the collector a cleanup
		h.release()
	}
	return nil
}

// markClosed marks the handle as closed. It reports whether the handle was open;
// then the caller must give back the owner's reference.
func (h *handle[P]) markClosed() bool {
	return h.isOpen() && h.closed.CompareAndSwap(false, true)
}

// account makes LiveBytes count n more bytes for the object until it is freed. A
// negative n takes bytes back. Only the caller may use the object.
func (h *handle[P]) account(n int64) {
	h.bytes += n
	native.add(n)
}

// isOpen reports whether the object exists and is not closed.
func (h *handle[P]) isOpen() bool { return h != nil && h.free != nil && !h.closed.Load() }

// ptr returns the C pointer for one call. The caller keeps the owner alive.
func (h *handle[P]) ptr() P {
	if stress {
		collect() // frees the owner now if the caller forgot to keep it alive
	}
	if !h.isOpen() {
		panic("tfbridge: use after Close, or runtime.KeepAlive is missing")
	}
	return h.p
}

// hold takes a reference, which the caller gives back with release. It returns
// false if the object is closed.
func (h *handle[P]) hold() bool {
	if stress {
		collect()
	}
	for h.isOpen() {
		n := h.refs.Load()
		if n == 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// release gives a reference back. The last one frees the object.
func (h *handle[P]) release() {
	if h.refs.Add(-1) == 0 {
		h.free.free(h.p)
		forgetHandle(h.id)
		live[h.kind].Add(-1)
		if h.bytes != 0 {
			native.add(-h.bytes)
		}
	}
}
