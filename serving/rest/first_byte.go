package rest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// patientListener accepts connections whose clients may send their first byte as late
// as they may send later requests. A client that keeps spare connections opens some
// that it needs only after a while. fasthttp limits the time to the first byte of a
// connection like the time for the headers, and then answers a request that was never
// made: a client that sends a request at that moment takes this answer for its own.
type patientListener struct {
	net.Listener
	idle, header time.Duration // how long the first byte may take, and the headers that begin with it
}

// Accept returns the next connection. A TLS connection is returned unchanged, because
// its client sends at once.
func (l patientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if _, plain := c.(syscall.Conn); err != nil || !plain {
		return c, err
	}
	return &patientConn{
		Conn: c, idle: l.idle, header: l.header,
		read: rareDeadline{set: c.SetReadDeadline}, write: rareDeadline{set: c.SetWriteDeadline},
	}, nil
}

// patientConn is a connection of a patientListener. Without a first byte it ends like a
// connection that the client has closed, which gets no answer.
type patientConn struct {
	net.Conn
	idle, header time.Duration
	begun        atomic.Bool // a byte has come
	read, write  rareDeadline
}

// NetConn returns the connection of the system.
func (c *patientConn) NetConn() net.Conn { return c.Conn }

// SetReadDeadline sets when reading fails. Before the first byte the connection sets
// its own deadline.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	if !c.begun.Load() {
		t = time.Now().Add(c.idle)
	}
	return c.read.change(t)
}

// SetWriteDeadline sets when writing fails.
func (c *patientConn) SetWriteDeadline(t time.Time) error { return c.write.change(t) }

// SetDeadline sets when reading and writing fail.
func (c *patientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Write writes bytes.
func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.write.apply(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Read reads the bytes that have arrived.
func (c *patientConn) Read(b []byte) (n int, err error) {
	if err := c.read.apply(); err != nil {
		return 0, err
	}
	n, err = c.Conn.Read(b)
	switch {
	case c.begun.Load():
	case n > 0:
		c.begun.Store(true)
		err = errors.Join(err, c.read.change(time.Now().Add(c.header)))
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = io.EOF
	}
	return n, err
}
