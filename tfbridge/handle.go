package tfbridge

import (
	"runtime"
	"sync/atomic"
)

// kind says what a handle owns, for the count of live ones.
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
	kindCallback // no C object, but C knows it
	kinds
)

// kindNames are the keys of LiveKinds.
var kindNames = [kinds]string{"tensor", "graph", "function", "session", "pinned memory", "partial run", "context", "tensor handle", "callback"}

var (
	live   [kinds]atomic.Int64
	leaked atomic.Int64
)

// Live reports how many C objects are open. Tests check that it falls to zero.
func Live() int64 {
	var n int64
	for k := range live {
		n += live[k].Load()
	}
	return n
}

// LiveKinds reports how many C objects are open by kind, "tensor" for one;
// kinds of which none is open are left out.
func LiveKinds() map[string]int64 {
	m := map[string]int64{}
	for k := range live {
		if n := live[k].Load(); n != 0 {
			m[kindNames[k]] = n
		}
	}
	return m
}

// Leaked reports how many C objects the garbage collector had to free so far
// because nobody closed them. It is a count of bugs.
func Leaked() int64 { return leaked.Load() }

// handle owns one C object of pointer type P. It is separate from the Go value
// that embeds it, because a cleanup must not reach the value it cleans up after.
//
// A call that may overlap with Close takes a reference with hold; the object
// is freed when it is closed and the last reference has gone.
type handle[P any] struct {
	p      P
	kind   kind
	free   freer[P]
	closed atomic.Bool
	refs   atomic.Int64 // 1 for the owner until Close
	net    runtime.Cleanup
	id     uint64 // in the profile of handles; 0 if it is not there
}

// freer frees a C object. It is no function because two tensors must be equal
// to reflect.DeepEqual, see Tensor, and two functions never are.
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

// own makes owner responsible for p: Close frees it, or the collector does.
func own[O, P any](owner *O, k kind, p P, free func(P)) *handle[P] {
	h := new(handle[P])
	h.start(k, p, freeFunc[P](free))
	h.net = runtime.AddCleanup(owner, reap[P], h)
	return h
}

// reap is the cleanup of an owner that was dropped, closed or not.
func reap[P any](h *handle[P]) {
	if !h.closed.Load() {
		leaked.Add(1)
		h.Close()
	}
}

// Close frees the C object, at once or when its last user is done. Calls after
// the first do nothing.
func (h *handle[P]) Close() error {
	if h.shut() {
		h.net.Stop() // else the collector has work with every closed owner
		h.release()
	}
	return nil
}

// shut marks the handle closed. It reports whether it was open, and so whether
// the caller has the owner's reference to give back.
func (h *handle[P]) shut() bool {
	return h.isOpen() && h.closed.CompareAndSwap(false, true)
}

// isOpen reports whether the object exists and was not closed.
func (h *handle[P]) isOpen() bool { return h != nil && h.free != nil && !h.closed.Load() }

// ptr returns the C pointer for one call; the caller keeps the owner alive.
func (h *handle[P]) ptr() P {
	if stress {
		collect() // frees the owner now if the caller forgot to keep it alive
	}
	if !h.isOpen() {
		panic("tfbridge: use after Close, or runtime.KeepAlive is missing")
	}
	return h.p
}

// hold takes a reference, which the caller gives back with release. It fails
// when the object is closed.
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

// release gives a reference back.
func (h *handle[P]) release() {
	if h.refs.Add(-1) == 0 {
		h.free.free(h.p)
		forgetHandle(h.id)
		live[h.kind].Add(-1)
	}
}
