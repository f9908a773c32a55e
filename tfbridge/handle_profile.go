//go:build cgo

package tfbridge

import (
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"millrace"
)

// HandleProfile is the name of the profile of open C objects.
const HandleProfile = "millrace.handles"

var (
	profileEvery atomic.Int64  // 0 is off
	profileCount atomic.Uint64 // objects made since profiling is on
)

// handles returns the profile, which the first call makes.
var handles = sync.OnceValue(func() *pprof.Profile { return pprof.NewProfile(HandleProfile) })

// ProfileHandles records, from now on, the stack that made one of every n C objects,
// until that object is freed. 1 records each tensor, graph, function and session. 0
// records none; a process starts with 0, which costs nothing. The stacks are in the
// pprof profile HandleProfile, which net/http/pprof serves:
//
//	go tool pprof http://localhost:6060/debug/pprof/millrace.handles
//
// A stack takes about a microsecond and 400 bytes. Live and LiveKinds count
// without it.
func ProfileHandles(every int) error {
	if every < 0 {
		return millrace.Errorf(millrace.ErrConfig, "cannot profile every %d-th handle; pass 0 or more", every)
	}
	handles()
	profileEvery.Store(int64(every))
	return nil
}

// profileHandle records a new object if the object is sampled, and returns the number
// for forgetHandle, or 0 if it recorded nothing. The profile keeps the number instead
// of the object, so that the object stays collectable.
func profileHandle() uint64 {
	every := profileEvery.Load()
	if every <= 0 {
		return 0
	}
	id := profileCount.Add(1)
	if id%uint64(every) != 0 {
		return 0
	}
	const ours = 3 // profileHandle, start and own or adoptTensor
	handles().Add(id, ours)
	return id
}

// forgetHandle removes an object from the profile.
func forgetHandle(id uint64) {
	if id != 0 {
		handles().Remove(id)
	}
}
