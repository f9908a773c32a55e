//go:build linux && !amd64 && !arm64

package sandbox

// There is no filter for other processors. TensorFlow's wheels exist for these two
// only.
const (
	auditArch    = 0
	foreignCalls = 0
)

var refusedHere, forks []uint32
