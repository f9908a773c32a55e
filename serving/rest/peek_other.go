//go:build !unix

package rest

import "net"

// closedByPeer returns false: only Unix can check this without reading the data.
func closedByPeer(net.Conn) bool { return false }
