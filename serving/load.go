package serving

import (
	"maps"
	"slices"
	"time"
)

// Load is a server's amount of work.
type Load struct {
	Requests    int     // acquired versions, one for each request in flight
	MemoryRatio float64 // share of the memory for requests that is in use, from 0 to 1
	Queues      []QueueLoad
	Versions    []VersionState
}

// QueueLoad describes the requests of a signature that wait for a batch.
type QueueLoad struct {
	Model     string
	Version   int64
	Signature string
	Requests  int
	Rows      int
	Oldest    time.Duration // age of the oldest request; 0 if none waits
}

// VersionState is the state of a version.
type VersionState struct {
	Model   string
	Version int64
	State   State
}

// queuesOf describes the queues of a version.
func queuesOf(v *Version) []QueueLoad {
	var all []QueueLoad
	for _, key := range slices.Sorted(maps.Keys(v.batchers)) {
		b := v.batchers[key]
		requests, rows := b.Waiting()
		all = append(all, QueueLoad{Model: v.Name, Version: v.Number, Signature: key, Requests: requests, Rows: rows, Oldest: b.OldestWait()})
	}
	return all
}
