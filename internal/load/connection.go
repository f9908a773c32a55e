package load

import (
	"errors"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"millrace"
)

// connection is a connection to the server, with one request at a time.
type connection struct {
	fd      int
	index   int32 // in the loop's connections
	busy    bool  // an answer is to come
	gone    bool  // the server closed the connection between requests
	arrival arrival
	unsent  []byte // of the request
	text    []byte // of the answer, as far as it has come
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
		if err := l.connect(c); err != nil {
			return errors.Join(err, l.close())
		}
	}
	return nil
}

// connect connects c to the server.
func (l *loop) connect(c *connection) error {
	family := unix.AF_INET
	if _, ok := l.address.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "socket: %w", err)
	}
	c.fd, c.gone, c.unsent, c.text = fd, false, nil, c.text[:0]
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: c.index}
	for _, step := range []func() error{
		func() error { return unix.Connect(fd, l.address) },
		func() error { return unix.SetNonblock(fd, true) },
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) },
		func() error { return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event) },
	} {
		if err := step(); err != nil {
			return millrace.Errorf(millrace.ErrIO, "connect to %s: %w", l.options.Address, err)
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

// flush sends as much of the request as the kernel takes.
func (c *connection) flush() error {
	for len(c.unsent) > 0 {
		n, err := unix.Write(c.fd, c.unsent)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		c.unsent = c.unsent[max(n, 0):]
	}
	return nil
}

// read reads what has come, and reports whether the answer is complete.
func (c *connection) read() (answer, bool, error) {
	for {
		c.text = slices.Grow(c.text, 4096)
		n, err := unix.Read(c.fd, c.text[len(c.text):cap(c.text)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return answer{}, false, nil
		case err != nil:
			return answer{}, false, err
		case n == 0:
			return answer{}, false, io.ErrUnexpectedEOF
		}
		c.text = c.text[:len(c.text)+n]
		if a, complete, err := parseAnswer(c.text); complete || err != nil {
			return a, complete, err
		}
	}
}
