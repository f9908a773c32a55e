package rest

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

/*
How it is noticed that a client has gone, or its time is over

A request whose client closed the connection should leave its batch. net/http finds
that out with a goroutine for each request, which waits for the next byte of the
connection: two changes of goroutine and two system calls for every request, of which
few ever wait long. fasthttp leaves it to its user.

Here the requests in flight stand in a list, the oldest first. While there are any,
the watcher looks every interval at those that are at least as old, and asks the
kernel for the next byte of their connections without taking it. The end of the
stream, or an error, cancels the request, and so does its deadline: a timer of its own costs a
request more than its place in the list. A request that is answered sooner pays for
that place alone.

	oldest                                     newest
	[ 71 ms ] <-> [ 55 ms ] <-> [ 20 ms ] <-> [ 1 ms ]      interval: 50 ms
	  looked at     looked at     too young to look at

What stands in the list is the context of the request.
*/

// watchInterval is the time between two checks of a watcher, and the age from which on
// a request is checked. If the time for requests is shorter than watchParts intervals,
// the interval is that time divided by watchParts.
const watchInterval, watchParts = 50 * time.Millisecond, 10

// watcher cancels the requests whose clients have closed their connection or whose time
// is over. Many goroutines may use it.
type watcher struct {
	timeout, interval time.Duration

	mu             sync.Mutex // guards the fields below, and the places in the list
	oldest, newest *watched
	timer          *time.Timer
	ticking        bool
}

// newWatcher returns a watcher of requests with a timeout.
func newWatcher(timeout time.Duration) *watcher {
	return &watcher{timeout: timeout, interval: max(min(watchInterval, timeout/watchParts), time.Millisecond)}
}

// watched is the context of a request in flight. Its deadline is noticed one interval late at
// most.
type watched struct {
	context.Context // carries the values of the request
	watcher         *watcher
	conn            net.Conn
	since           time.Time
	done            chan struct{}

	older, newer *watched // neighbours in the watcher's list
	err          error    // the watcher's lock guards it and after
	after        []*func()
}

// add returns the context of a request. The caller ends it.
func (w *watcher) add(ctx context.Context, conn net.Conn, now time.Time) *watched {
	r := &watched{Context: ctx, watcher: w, conn: conn, since: now, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.older = w.newest; r.older != nil {
		r.older.newer = r
	} else {
		w.oldest = r
	}
	w.newest = r
	if !w.ticking {
		w.ticking = true
		w.tick()
	}
	return r
}

// end takes a request out of the list and ends its context.
func (r *watched) end() {
	w := r.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		w.oldest = r.newer
	}
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		w.newest = r.older
	}
	r.cancel(context.Canceled)
}

// cancel ends the context, unless it has ended. The caller holds the lock.
func (r *watched) cancel(err error) {
	if r.err == nil {
		r.err = err
		close(r.done)
		for _, f := range r.after {
			go (*f)()
		}
		r.after = nil
	}
}

// AfterFunc calls f in a goroutine when the context ends, unless stop is called before. Without
// it package context would need a goroutine for each context that derives from this one.
func (r *watched) AfterFunc(f func()) (stop func() bool) {
	r.watcher.mu.Lock()
	defer r.watcher.mu.Unlock()
	if r.err != nil {
		go f()
		return func() bool { return false }
	}
	r.after = append(r.after, &f)
	return func() bool {
		r.watcher.mu.Lock()
		defer r.watcher.mu.Unlock()
		i := slices.Index(r.after, &f)
		if i < 0 {
			return false
		}
		r.after = slices.Delete(r.after, i, i+1)
		return true
	}
}

// Deadline returns when the context ends by itself.
func (r *watched) Deadline() (time.Time, bool) { return r.since.Add(r.watcher.timeout), true }

// Done is closed when the context ends.
func (r *watched) Done() <-chan struct{} { return r.done }

// Err returns why the context has ended, nil if it has not.
func (r *watched) Err() error {
	r.watcher.mu.Lock()
	defer r.watcher.mu.Unlock()
	return r.err
}

// tick lets look be called after an interval. The caller holds the lock.
func (w *watcher) tick() {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.interval, w.look)
	} else {
		w.timer.Reset(w.interval)
	}
}

// look cancels the requests that are old enough and whose clients have gone or whose time is over.
func (w *watcher) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for r := w.oldest; r != nil && now.Sub(r.since) >= w.interval; r = r.newer {
		switch {
		case now.Sub(r.since) >= w.timeout:
			r.cancel(context.DeadlineExceeded)
		case closedByPeer(r.conn):
			r.cancel(context.Canceled)
		}
	}
	if w.ticking = w.oldest != nil; w.ticking {
		w.tick()
	}
}

// cancelAll cancels all requests in flight.
func (w *watcher) cancelAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := w.oldest; r != nil; r = r.newer {
		r.cancel(context.Canceled)
	}
}
