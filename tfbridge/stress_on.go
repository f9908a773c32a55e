//go:build cgo && stress

package tfbridge

import (
	"runtime"
	"time"
)

const stress = true

// collect runs the collector and gives the cleanups of unreachable values time to run.
func collect() {
	runtime.GC()
	time.Sleep(time.Millisecond)
}
