package rest

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"
)

/*
How a client that has gone is noticed

A request whose client closed the connection should leave its batch. net/http finds
that out with a goroutine for each request, which waits for the next byte of the
connection: two changes of goroutine and two system calls for every request, of which
few ever wait long. fasthttp leaves it to its user.

Here the requests in flight stand in a list, the oldest first. While there are any,
the watcher looks every watchInterval at those that are at least as old, and asks the
kernel for the next byte of their connections without taking it. The end of the
stream, or an error, cancels the request. A request that is answered sooner pays
for its place in the list alone.
*/

// watchInterval is how often the watcher looks, and how old a request must be.
const watchInterval = 50 * time.Millisecond

// watcher cancels the requests whose clients have closed their connection. The zero
// value is ready for use. Many goroutines may use it.
type watcher struct {
	mu       sync.Mutex // guards what follows
	requests list.List  // of *watched, the oldest first
	timer    *time.Timer
	ticking  bool
}

// watched is a request in flight.
type watched struct {
	conn   net.Conn
	since  time.Time
	cancel context.CancelFunc
}

// add watches a request, until the function that it returns is called.
func (w *watcher) add(conn net.Conn, cancel context.CancelFunc) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.requests.PushBack(&watched{conn: conn, since: time.Now(), cancel: cancel})
	if !w.ticking {
		w.ticking = true
		w.tick()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests.Remove(e)
	}
}

// tick has look called after watchInterval. The caller holds the lock.
func (w *watcher) tick() {
	if w.timer == nil {
		w.timer = time.AfterFunc(watchInterval, w.look)
	} else {
		w.timer.Reset(watchInterval)
	}
}

// look cancels the requests that are old enough and whose clients have gone.
func (w *watcher) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for e := w.requests.Front(); e != nil; e = e.Next() {
		r := e.Value.(*watched)
		if now.Sub(r.since) < watchInterval {
			break
		}
		if closedByPeer(r.conn) {
			r.cancel()
		}
	}
	if w.ticking = w.requests.Len() > 0; w.ticking {
		w.tick()
	}
}

// cancelAll cancels all requests in flight.
func (w *watcher) cancelAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := w.requests.Front(); e != nil; e = e.Next() {
		e.Value.(*watched).cancel()
	}
}
