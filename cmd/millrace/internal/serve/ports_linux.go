package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is a bound TCP socket. It belongs to a listener from the beginning: its descriptor stays the
// same when it listens.
type port struct{ l *net.TCPListener }

// backlog is how many connections wait to be accepted; the kernel lowers it to net.core.somaxconn.
const backlog = 1<<16 - 1

// bindPort binds a socket as [net.Listen] does: without a host, or with an unspecified address,
// to all addresses of both versions of IP.
func bindPort(address string) (*port, error) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if len(a.IP) > 0 && !a.IP.IsUnspecified() {
		return bindTo(a)
	}
	p, err := bindTo(&net.TCPAddr{IP: net.IPv6unspecified, Port: a.Port})
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) { // the machine has no IPv6
		return bindTo(&net.TCPAddr{IP: net.IPv4zero, Port: a.Port})
	}
	return p, err
}

// bindTo binds a socket to an address.
func bindTo(a *net.TCPAddr) (*port, error) {
	family, to, err := socketAddress(a)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "port "+strconv.Itoa(a.Port))
	defer file.Close() // the listener has a copy
	if a.Port != 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	if family == unix.AF_INET6 {
		only := 1
		if a.IP.IsUnspecified() {
			only = 0
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only); err != nil {
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	if err := unix.Bind(fd, to); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	return &port{l.(*net.TCPListener)}, nil
}

// socketAddress returns the address for the kernel and its family.
func socketAddress(a *net.TCPAddr) (family int, to unix.Sockaddr, err error) {
	if ip := a.IP.To4(); ip != nil {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}, nil
	}
	to6 := &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	if a.Zone != "" {
		zone, err := net.InterfaceByName(a.Zone)
		if err != nil {
			return 0, nil, fmt.Errorf("the zone of %s: %w", a, err)
		}
		to6.ZoneId = uint32(zone.Index)
	}
	return unix.AF_INET6, to6, nil
}

// control calls a function with the descriptor.
func (p *port) control(do func(fd int) error) error {
	raw, err := p.l.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(fd uintptr) { result = do(int(fd)) }); err != nil {
		return err
	}
	return result
}

// listen begins to accept connections.
func (p *port) listen() (net.Listener, error) {
	err := p.control(func(fd int) error { return os.NewSyscallError("listen", unix.Listen(fd, backlog)) })
	return p.l, err
}

// descriptors returns the descriptor, which stays the same until close.
func (p *port) descriptors() (list []int) {
	p.control(func(fd int) error { list = []int{fd}; return nil }) // it fails when the socket is closed
	return list
}

func (p *port) close() { p.l.Close() }
