package identity

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// hello returns the first message of a client's handshake.
func hello(t testing.TB) string {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		defer theirs.Close()
		tls.Client(theirs, &tls.Config{ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"}}).Handshake() // it fails when ours closes
	}()
	message := make([]byte, 16<<10)
	n, err := ours.Read(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(message[:n])
}

// Stall opens connections to a server of TLS. Each stops or goes astray at another point of the handshake.
// Stall waits until the server has closed them all. It reports those that are still open after a minute.
func Stall(t testing.TB, address string) {
	t.Helper()
	first := hello(t)
	var open sync.WaitGroup
	for name, sent := range map[string]string{
		"nothing": "", "a byte": first[:1], "half a hello": first[:len(first)/2], "a hello": first, "a hello twice": first + first,
		"the header of a long record": "\x16\x03\x01\xff\xff", "an alert": "\x15\x03\x01\x00\x02\x02\x28", "HTTP": "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "zeros": strings.Repeat("\x00", 1000), "an old version": "\x80\x2e\x01\x00\x02" + strings.Repeat("\x01", 50),
		"a hello and noise": first + strings.Repeat("\xa5", 1000),
	} {
		for _, cut := range []bool{false, true} { // the client closes its side
			open.Go(func() {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				io.WriteString(c, sent)
				if cut {
					c.(*net.TCPConn).CloseWrite()
				}
				c.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s, cut %v: the connection stays open", name, cut)
				}
			})
		}
	}
	open.Wait()
}
