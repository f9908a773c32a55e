//go:build linux && !amd64

package killstep

var olderChanges []uint32
