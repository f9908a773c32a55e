//go:build unix

package rest

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// closedByPeer reports whether the other side has closed a connection and all its data
// has been read.
func closedByPeer(conn net.Conn) bool {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn }) // tls.Conn, or one whose first bytes were read
		if !ok {
			break
		}
		conn = outer.NetConn()
	}
	system, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return true
	}
	closed := true
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		waits := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
		closed = !waits && (err != nil || n == 0)
	})
	return err != nil || closed
}
