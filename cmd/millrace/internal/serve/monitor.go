package serve

import (
	"runtime"
	"sync/atomic"
	"time"
)

/*
Slowing Go's monitor thread

Go's runtime has a monitor thread, which takes a processor of the scheduler away from a goroutine that
computes or waits in the kernel for too long. While all of these processors are idle the monitor
sleeps, and the next system call of a goroutine wakes it. Then it looks around each 20 us, until all
are idle again.

	request of the only client:   read  | run the model | write |       read  | ...
	processors of the scheduler:  busy ------------------ busy   idle    busy
	monitor:                      woken  look  look  look  look  sleeps  woken ...

A server with one client or with a few is idle after each request. The monitor was woken for each of
them, by a system call more, and took a sixth of the server's processor time (docs/performance.md).

If one processor of the scheduler is never idle, the monitor does not sleep. It finds nothing to do,
and after a millisecond it slows down to a look each 10 ms. So while there are many requests, a
goroutine lies in the kernel, for napTime again and again: less than the 10 ms after which the monitor
would take its processor away. It yields after each nap, or the monitor would add them up. It has a
processor more for that, and takes 0.3% of a real one. When something is to be done, as when runs
of models hold the other processors, the monitor takes this one at once, and looks each 20 us as
before. Only the first time it may come 10 ms late.
*/

// Lengths of a nap and of a watch, which is the time after which the number of requests decides
// whether the naps continue.
const (
	napTime       = 4 * time.Millisecond
	watchNaps     = 32
	watchRequests = 64
)

// monitorPacer slows the monitor while there are at least watchRequests in a watch. Many goroutines
// may call request.
type monitorPacer struct {
	requests atomic.Int64 // number in this watch
	napping  atomic.Bool
	wake     chan struct{}
	end      chan struct{}
}

// newMonitorPacer returns a pacer. The caller closes it.
func newMonitorPacer() *monitorPacer {
	p := &monitorPacer{wake: make(chan struct{}, 1), end: make(chan struct{})}
	if canNap {
		go p.work()
	}
	return p
}

// close ends the naps. It does not wait for the last one.
func (p *monitorPacer) close() { close(p.end) }

// request counts a request.
func (p *monitorPacer) request() {
	if p.requests.Add(1) < watchRequests || p.napping.Load() {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// work waits for many requests, and naps while they come.
func (p *monitorPacer) work() {
	for {
		select {
		case <-p.wake:
		case <-p.end:
			return
		}
		p.napping.Store(true)
		for p.requests.Swap(0) >= watchRequests {
			for range watchNaps {
				nap(napTime)
				runtime.Gosched()
			}
		}
		p.napping.Store(false)
	}
}
