// Package oneport serves gRPC and HTTP by one port.
//
//	l, err := net.Listen("tcp", "localhost:8501")
//	...
//	grpc, http := oneport.Split(l, nil)
//	go grpcServer.Serve(grpc)
//	go httpServer.Serve(http)
//
// A client of gRPC begins a connection with the preface of HTTP/2, which no HTTP/1
// request begins with. With TLS the client announces "h2" in its handshake (ALPN).
package oneport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"millrace/serving/internal/accept"
)

// preface begins each connection of HTTP/2.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// handshakeTime is how long a handshake of TLS may take.
const handshakeTime = 20 * time.Second

// Options are the options of Split. Nil and the zero value mean the defaults.
type Options struct {
	// TLS terminates TLS at the port. The gRPC server then needs [Credentials], and the
	// HTTP server no TLS. Nil: no TLS.
	TLS *tls.Config
	// FirstByteTime is how long a client may take for its first bytes. 0: 2 min. A TLS
	// handshake, which a client begins at once, may take 20 s of it.
	FirstByteTime time.Duration
	// MaxUndecided is how many connections may be without their first bytes. Further
	// connections are closed. 0: 10,000.
	MaxUndecided int
}

// Split returns a listener for gRPC connections, and one for all others. Closing both,
// or an error of the listener, ends the splitting.
func Split(l net.Listener, o *Options) (grpc, http net.Listener) {
	if o == nil {
		o = &Options{}
	}
	s := &splitter{from: accept.Steady(l), options: *o, closed: make(chan struct{}), undecided: make(chan struct{}, cmp.Or(o.MaxUndecided, 10_000))}
	s.options.FirstByteTime = cmp.Or(o.FirstByteTime, 2*time.Minute)
	if o.TLS != nil {
		s.options.TLS = o.TLS.Clone()
		s.options.TLS.NextProtos = []string{"h2", "http/1.1"}
	}
	for i := range s.sides {
		s.sides[i] = &side{splitter: s, conns: make(chan net.Conn), closed: make(chan struct{})}
	}
	go s.accept()
	return s.sides[0], s.sides[1]
}

// splitter accepts connections and passes each to a side: 0 is gRPC.
type splitter struct {
	from      net.Listener
	options   Options
	undecided chan struct{} // has room for the connections without first bytes
	sides     [2]*side

	once   sync.Once
	closed chan struct{} // closed when from is closed, or has failed
	err    error         // the reason; set when closed is closed
}

// accept takes connections until the listener is closed.
func (s *splitter) accept() {
	for {
		c, err := s.from.Accept()
		if err != nil {
			var network net.Error
			if errors.As(err, &network) && network.Timeout() {
				continue
			}
			s.end(err)
			return
		}
		select {
		case s.undecided <- struct{}{}:
			go s.decide(c)
		default:
			c.Close()
		}
	}
}

// end closes the listener.
func (s *splitter) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.closed)
		s.from.Close()
	})
}

// decide passes a connection to its side.
func (s *splitter) decide(raw net.Conn) {
	c, i, err := s.begin(raw)
	<-s.undecided
	if err != nil {
		raw.Close()
		return
	}
	select {
	case s.sides[i].conns <- c:
	case <-s.sides[i].closed:
		raw.Close()
	case <-s.closed:
		raw.Close()
	}
}

// begin returns a connection whose first bytes have arrived, and its side.
func (s *splitter) begin(raw net.Conn) (c net.Conn, side int, err error) {
	end := time.Now().Add(s.options.FirstByteTime)
	if s.options.TLS != nil {
		end = time.Now().Add(min(s.options.FirstByteTime, handshakeTime))
	}
	if err := raw.SetDeadline(end); err != nil {
		return nil, 0, err
	}
	defer func() { err = cmp.Or(err, raw.SetDeadline(time.Time{})) }()
	if s.options.TLS != nil {
		secured := tls.Server(raw, s.options.TLS)
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, 0, err
		}
		if secured.ConnectionState().NegotiatedProtocol == "h2" {
			return secured, 0, nil
		}
		return secured, 1, nil
	}
	begun := &begunConn{Conn: raw}
	for len(begun.first) < len(preface) {
		room := make([]byte, len(preface)-len(begun.first))
		n, err := raw.Read(room)
		begun.first = append(begun.first, room[:n]...)
		if !bytes.HasPrefix([]byte(preface), begun.first) {
			return begun, 1, nil // even after an error: the server gets it again
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return begun, 0, nil
}

// begunConn is a connection whose first bytes have been read.
type begunConn struct {
	net.Conn
	first []byte
}

// NetConn returns the connection of the system.
func (c *begunConn) NetConn() net.Conn { return c.Conn }

// Read returns the first bytes again, and then the rest.
func (c *begunConn) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}

// side is the listener of one protocol.
type side struct {
	*splitter
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept returns the next connection of the protocol.
func (s *side) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-s.splitter.closed:
		return nil, s.err
	}
}

// Addr returns the address of the port.
func (s *side) Addr() net.Addr { return s.from.Addr() }

// Close refuses the connections of the protocol. When both sides are closed, the port
// is closed.
func (s *side) Close() error {
	s.once.Do(func() { close(s.closed) })
	for _, other := range s.sides {
		select {
		case <-other.closed:
		default:
			return nil
		}
	}
	s.end(net.ErrClosed)
	return nil
}

// Credentials are for a gRPC server whose connections have completed their TLS
// handshake: they provide the client's certificates. Connections without TLS are
// accepted unchanged.
func Credentials() credentials.TransportCredentials { return ended{} }

// ended are credentials of connections after their handshake.
type ended struct{}

// ServerHandshake returns the result of the handshake.
func (ended) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, ok := c.(*tls.Conn)
	if !ok {
		return c, nil, nil
	}
	info := credentials.TLSInfo{State: secured.ConnectionState(), CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return c, info, nil
}

// ClientHandshake returns an error: clients need other credentials.
func (ended) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are for servers")
}

func (ended) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (e ended) Clone() credentials.TransportCredentials { return e }
func (ended) OverrideServerName(string) error           { return nil }
