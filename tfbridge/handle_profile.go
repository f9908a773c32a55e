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
	profileCount atomic.Uint64 // objects made since it is on
)

// handles returns the profile, made when it is first asked for.
var handles = sync.OnceValue(func() *pprof.Profile { return pprof.NewProfile(HandleProfile) })

// ProfileHandles records where one of every so many C objects is made from now
// on, until it is freed: each tensor, graph, function and session with 1, none
// with 0, which is how a process begins and costs nothing. The stacks are in
// the pprof profile HandleProfile, which net/http/pprof serves by itself:
//
//	go tool pprof http://localhost:6060/debug/pprof/millrace.handles
//
// A stack takes about a microsecond and 400 bytes. Live and LiveKinds count
// without it.
func ProfileHandles(every int) error {
	if every < 0 {
		return millrace.Errorf(millrace.ErrConfig, "a profile of every %d handles", every)
	}
	handles()
	profileEvery.Store(int64(every))
	return nil
}

// profileHandle records a new object, if its turn has come, and returns the
// number to forget it by, 0 if it was not recorded. The profile holds on to
// the number, not to the object, which may be dropped like any other.
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

// forgetHandle takes an object out of the profile.
func forgetHandle(id uint64) {
	if id != 0 {
		handles().Remove(id)
	}
}
