package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace"
)

// loop is the state of a load. One thread uses it.
type loop struct {
	options Options
	address unix.Sockaddr
	random  *rand.Rand
	result  *Result

	epoll       int
	connections []*connection
	free        []*connection // idle connections, in an open load
	waiting     []arrival     // requests that wait for a connection
	busy        int           // number of connections that wait for an answer
	next        int           // index of the next request
	closing     bool          // no more requests arrive

	began     time.Time
	now       time.Duration // time since the start
	measured  time.Duration // start of counting
	end       time.Duration // end of counting
	nextAt    time.Duration // time of the next arrival in an open load
	processor time.Duration // processor time used when counting began
}

// open makes the connections.
func (l *loop) open(n int) (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return millrace.Errorf(millrace.ErrIO, "epoll_create1: %w", err)
	}
	// The kernel rounds waits up by the timer slack, 50 us by default: as long as
	// an answer takes.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return errors.Join(millrace.Errorf(millrace.ErrIO, "prctl: %w", err), l.close())
	}
	for i := range n {
		c := &connection{fd: -1, index: int32(i)}
		l.connections = append(l.connections, c)
		if err := c.connect(l.epoll, l.address); err != nil {
			return errors.Join(err, l.close())
		}
	}
	return nil
}

// close closes the connections.
func (l *loop) close() error {
	for _, c := range l.connections {
		if c.fd >= 0 {
			unix.Close(c.fd)
		}
	}
	return unix.Close(l.epoll)
}

// run sends requests until the end and waits for the last answers.
func (l *loop) run(ctx context.Context) error {
	l.began = time.Now()
	l.measured, l.end = l.options.Warm, l.options.Warm+l.options.Duration
	if l.options.Rate == 0 {
		for _, c := range l.connections {
			if err := l.send(c, l.arrive(0)); err != nil {
				return err
			}
		}
	} else {
		l.free = append(l.free, l.connections...)
	}
	counting := false
	var events [256]unix.EpollEvent
	for !l.closing || l.busy+len(l.waiting) > 0 {
		l.now = time.Since(l.began)
		switch {
		case !counting && l.now >= l.measured:
			counting, l.processor = true, processorTime()
		case !l.closing && (l.now >= l.end || ctx.Err() != nil):
			l.finish()
		case l.closing && l.now >= l.end+l.options.Grace:
			l.result.Lost += int64(l.busy)
			l.result.Unsent = int64(len(l.waiting))
			return nil
		}
		if err := l.dispatch(); err != nil {
			return err
		}
		if err := l.poll(events[:]); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the time in which requests arrive.
func (l *loop) finish() {
	l.closing, l.end = true, l.now
	l.result.Seconds = (l.now - l.measured).Seconds()
	l.result.Processor = processorTime() - l.processor
}

// arrive returns the next request.
func (l *loop) arrive(at time.Duration) arrival {
	a := arrival{request: l.next, at: at}
	l.next = (l.next + 1) % len(l.options.Requests)
	return a
}

// dispatch sends the requests of an open load that have arrived by now.
func (l *loop) dispatch() error {
	if l.options.Rate == 0 || l.closing {
		return nil
	}
	for l.nextAt <= l.now {
		a := l.arrive(l.nextAt)
		l.nextAt += time.Duration(l.random.ExpFloat64() / l.options.Rate * float64(time.Second))
		if len(l.free) == 0 {
			l.waiting = append(l.waiting, a)
			l.result.Waited++
			continue
		}
		c := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		if err := l.send(c, a); err != nil {
			return err
		}
	}
	return nil
}

// poll waits for answers, at most until the next request arrives.
func (l *loop) poll(events []unix.EpollEvent) error {
	wait := 10 * time.Millisecond
	if l.options.Rate != 0 && !l.closing {
		wait = min(wait, max(l.nextAt-time.Since(l.began), 0))
	}
	limit := unix.NsecToTimespec(wait.Nanoseconds())
	n, _, failed := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	if failed != 0 && failed != unix.EINTR {
		return millrace.Errorf(millrace.ErrIO, "epoll_pwait2: %w", failed)
	}
	if failed != 0 {
		return nil
	}
	for _, e := range events[:n] {
		c := l.connections[e.Fd]
		if !c.busy {
			c.gone = c.gone || e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
			continue
		}
		if err := l.ready(c); err != nil {
			return err
		}
	}
	return nil
}

// ready continues a request whose connection can be read or written.
func (l *loop) ready(c *connection) error {
	if err := c.flush(); err != nil {
		return l.lost(c)
	}
	a, complete, err := c.read()
	switch {
	case errors.Is(err, millrace.ErrIO):
		return err
	case err != nil:
		return l.lost(c)
	case !complete:
		return nil
	}
	l.answered(c, a)
	if a.closes {
		return l.reconnect(c)
	}
	return l.proceed(c)
}

// answered counts an answer.
func (l *loop) answered(c *connection, a answer) {
	c.busy = false
	l.busy--
	if c.arrival.at < l.measured || c.arrival.at > l.end {
		return
	}
	l.result.withStatus(a.status).Add(time.Since(l.began) - c.arrival.at)
	if l.options.OnAnswer != nil {
		l.options.OnAnswer(c.arrival.request, a.status, a.body)
	}
}

// lost counts a request whose connection ended, and makes a new connection.
func (l *loop) lost(c *connection) error {
	if c.busy {
		c.busy = false
		l.busy--
		l.result.Lost++
	}
	return l.reconnect(c)
}

// reconnect replaces c's connection by a new one.
func (l *loop) reconnect(c *connection) error {
	unix.Close(c.fd)
	if l.closing && len(l.waiting) == 0 {
		c.fd = -1
		return nil
	}
	if err := c.connect(l.epoll, l.address); err != nil {
		return err
	}
	return l.proceed(c)
}

// proceed gives a connection that is not busy its next request.
func (l *loop) proceed(c *connection) error {
	switch {
	case len(l.waiting) > 0:
		a := l.waiting[0]
		l.waiting = l.waiting[1:]
		return l.send(c, a)
	case l.closing:
	case l.options.Rate == 0:
		return l.send(c, l.arrive(time.Since(l.began)))
	default:
		l.free = append(l.free, c)
	}
	return nil
}

// send sends a request.
func (l *loop) send(c *connection, a arrival) error {
	if c.gone { // the server has closed it meanwhile
		unix.Close(c.fd)
		if err := c.connect(l.epoll, l.address); err != nil {
			return err
		}
	}
	c.arrival, c.busy = a, true
	c.unsent, c.text = l.options.Requests[a.request], c.text[:0]
	l.busy++
	if err := c.flush(); err != nil {
		return l.lost(c)
	}
	return nil
}

// processorTime returns the processor time of the calling thread.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
