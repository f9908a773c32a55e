package serve

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// tuneGo sets Go's scheduler and collector for a server whose requests may take the
// given number of bytes. The settings hold until the returned function is called.
// Settings in the environment take precedence.
func tuneGo(requests int64) (end func()) {
	gather, keep, unlimit := spreadProcessors(), collectLate(), limitHeap(requests)
	return func() {
		unlimit()
		keep()
		gather()
	}
}

// gcBallast makes the collector run rarely. Requests leave garbage quickly although
// little memory stays in use, because tensors are C memory. With Go's default the
// collector would run dozens of times a second, each time for some milliseconds in
// which requests wait for processors. The ballast counts as memory in use, but is never
// touched, so it takes no real memory: the collector runs once for each 128 MB of
// garbage at most. A higher GOGC would do the same, but a server with many connections
// could then take several times the memory that it uses.
const gcBallast = 128 << 20

// collectLate makes the collector run rarely until the returned function is called,
// unless the environment sets how often it runs.
func collectLate() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	ballast := make([]byte, gcBallast)
	return func() { runtime.KeepAlive(ballast) }
}

// spreadProcessors lets Go run twice as many goroutines at a time as there are
// processors, unless the environment sets the number. A run of a model is a call into
// C. It occupies one of these places until the scheduler notices, after up to 10 ms.
// With one place for each processor, runs would take all places, and requests that have
// arrived would not be read meanwhile. The returned function sets the number as it was:
// a process that serves again and again would otherwise double it each time.
func spreadProcessors() (end func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(0)
	places := 2 * before
	if canNap {
		places++ // monitorPacer takes one
	}
	runtime.GOMAXPROCS(places)
	return func() { runtime.GOMAXPROCS(before) }
}

// heapRest is the memory for the server's connections and garbage, in addition to the
// memory of requests.
const heapRest = 256 << 20

// limitHeap makes the collector run more often before Go takes more than twice the
// memory of requests, until the returned function is called. Otherwise it would run
// only when there is as much garbage as memory in use, and freed pages of long bodies
// would stay with the process while other pages are taken. The limit is soft: memory in
// use may exceed it. The environment may set another one.
func limitHeap(requests int64) (end func()) {
	if os.Getenv("GOMEMLIMIT") != "" || requests > math.MaxInt64/4 {
		return func() {}
	}
	before := debug.SetMemoryLimit(2*requests + gcBallast + heapRest)
	return func() { debug.SetMemoryLimit(before) }
}
