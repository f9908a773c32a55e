//go:build !unix

package rest

import "net"

// closedByPeer reports false: only Unix tells without taking what there is to read.
func closedByPeer(net.Conn) bool { return false }
