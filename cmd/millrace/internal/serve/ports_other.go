//go:build !linux

package serve

import "net"

// port is the address of a port. It is bound when it listens, because other systems have nothing like the sandbox.
type port struct{ address string }

func bindPort(address string) (*port, error) { return &port{address}, nil }

func (p *port) listen() (net.Listener, error) { return net.Listen("tcp", p.address) }

func (p *port) descriptors() []int { return nil }

func (p *port) close() {}
