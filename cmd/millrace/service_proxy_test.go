package main

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// otherHost is a second name of this machine, where a proxy can listen at a worker's port.
const otherHost = "127.0.0.2"

// proxy is a network between a client and a server of a data service.
type proxy struct {
	to    string
	delay time.Duration // before each piece of an answer; 0: none

	mu    sync.Mutex
	open  chan struct{} // closed while bytes pass
	conns []net.Conn
}

// startProxy starts a proxy that listens at an address and passes bytes to another one.
func startProxy(t *testing.T, at, to string, delay time.Duration) *proxy {
	t.Helper()
	reuse := func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }); e != nil {
			return e
		}
		return err
	}
	l, err := (&net.ListenConfig{Control: reuse}).Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Skip("no second address on this machine: ", err)
	}
	p := &proxy{to: to, delay: delay, open: make(chan struct{})}
	close(p.open)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(t.Context(), c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.conns {
			c.Close()
		}
	})
	return p
}

// cut stops all bytes, without an end of the connections, until heal is called.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open)
}

// pass copies between a connection and the server.
func (p *proxy) pass(ctx context.Context, c net.Conn) {
	s, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.to)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, s)
	p.mu.Unlock()
	go p.copy(ctx, s, c, 0)
	p.copy(ctx, c, s, p.delay)
}

// copy copies until one side ends, and waits while the network is cut.
func (p *proxy) copy(ctx context.Context, to, from net.Conn, delay time.Duration) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 4096)
	for {
		n, err := from.Read(piece)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		select {
		case <-open:
		case <-ctx.Done():
			return
		}
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return
			}
		}
		if _, e := to.Write(piece[:n]); e != nil || err != nil {
			return
		}
	}
}
