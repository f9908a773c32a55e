// Package accept keeps a server's listener open when a connection temporarily cannot be
// accepted, for example because the process has no more file descriptors. net/http and
// gRPC wait and try again; fasthttp ends its server.
package accept

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Steady returns a listener whose Accept waits and tries again after a temporary error.
// Closing it ends the wait.
func Steady(l net.Listener) net.Listener {
	return &steady{Listener: l, closed: make(chan struct{}), pause: time.After}
}

// steady is a listener that continues after temporary errors.
type steady struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
	pause  func(time.Duration) <-chan time.Time
}

// The first wait, and the longest; each is twice as long as the one before it.
const firstPause, longestPause = 5 * time.Millisecond, time.Second

// Accept returns the next connection.
func (s *steady) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		c, err := s.Listener.Accept()
		if err == nil || !passes(err) {
			return c, err
		}
		select {
		case <-s.pause(pause):
		case <-s.closed:
			return nil, net.ErrClosed
		}
	}
}

// Close closes the listener.
func (s *steady) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

// passes reports whether an error is temporary: the process or the system has too many
// files, there is no memory for a socket, or the client has already gone.
func passes(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPROTO, syscall.EPERM,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
