package serve

import (
	"runtime"
	"testing"
)

// A server leaves Go's scheduler as it found it.
func TestTuneGo(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before := runtime.GOMAXPROCS(0)
	want := 2 * before
	if canNap {
		want++
	}
	for range 2 {
		end := tuneGo(1 << 20)
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%d goroutines at a time, want %d", got, want)
		}
		end()
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d goroutines at a time after the end, want %d", got, before)
	}
}
