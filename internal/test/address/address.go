// Package address finds addresses for servers of tests whose ports must be known before
// the servers start.
package address

import (
	"net"
	"testing"
)

// Free returns n different addresses of this machine at whose ports nothing listened a
// moment ago.
func Free(t testing.TB, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after each has one, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
