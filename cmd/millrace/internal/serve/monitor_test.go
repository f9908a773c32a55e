package serve

import (
	"runtime"
	"testing"
)

// The pacer naps while there are many requests, stops when there are few, and ends.
func TestMonitorPacer(t *testing.T) {
	if !canNap {
		t.Skip("there are no naps here")
	}
	p := &monitorPacer{wake: make(chan struct{}, 1), end: make(chan struct{})}
	ended := make(chan struct{})
	go func() { p.work(); close(ended) }()
	for range watchRequests - 1 {
		p.request()
	}
	if len(p.wake) > 0 || p.napping.Load() {
		t.Errorf("it naps after %d requests", watchRequests-1)
	}
	for range 2 {
		for !p.napping.Load() {
			p.request()
			runtime.Gosched()
		}
		for p.napping.Load() {
			runtime.Gosched()
		}
	}
	p.close()
	<-ended
}
