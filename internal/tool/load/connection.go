package load

import (
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
)

// connection is a connection to the server, with one request at a time.
type connection struct {
	fd      int
	index   int32 // index among the loop's connections
	busy    bool  // waiting for an answer
	gone    bool  // the server closed the connection between requests
	arrival arrival
	unsent  []byte // unsent part of the request
	text    []byte // received part of the answer
}

// connect connects c to the server, and registers it with epoll.
func (c *connection) connect(epoll int, address unix.Sockaddr) error {
	family := unix.AF_INET
	if _, ok := address.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "socket: %w", err)
	}
	c.fd, c.gone, c.unsent, c.text = fd, false, nil, c.text[:0]
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: c.index}
	for _, step := range []func() error{
		func() error { return unix.Connect(fd, address) },
		func() error { return unix.SetNonblock(fd, true) },
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) },
		func() error { return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event) },
	} {
		if err := step(); err != nil {
			return millrace.Errorf(millrace.ErrIO, "connect: %w", err)
		}
	}
	return nil
}

// arrival is a request to send.
type arrival struct {
	request int
	at      time.Duration
}

// flush sends as much of the request as the kernel accepts.
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

// read reads the available bytes, and reports whether the answer is complete.
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
