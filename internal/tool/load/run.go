package load

import (
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"millrace"
)

// Run sends requests and returns what it measured, also when ctx is done before the
// time is over. A server that cannot be reached is an error of class
// millrace.ErrIO.
func Run(ctx context.Context, o Options) (*Result, error) {
	if len(o.Requests) == 0 {
		return nil, millrace.Errorf(millrace.ErrConfig, "there are no requests to send")
	}
	address, err := net.ResolveTCPAddr("tcp", o.Address)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "%w", err)
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	l := &loop{options: o, address: socketAddress(address), random: rand.New(rand.NewPCG(1, 2)), result: &Result{Answers: map[int]*Histogram{}}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := l.open(max(o.Connections, 1)); err != nil {
		return nil, err
	}
	defer l.close()
	return l.result, l.run(ctx)
}

// socketAddress returns an address in the kernel's form. An empty host means this
// machine.
func socketAddress(a *net.TCPAddr) unix.Sockaddr {
	if ip := a.IP.To4(); ip != nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
	}
	s := &unix.SockaddrInet6{Port: a.Port}
	copy(s.Addr[:], a.IP.To16())
	return s
}
