package training

import (
	"time"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// How long does a step wait for its input? Input and model are one run of one graph, so
// from outside only the whole can be timed. An operation after the gate returns the arrival
// time of the batch.

// arrivalName is the output of a joined signature with the arrival time of the batch, in
// nanoseconds since a fixed moment of the process.
const arrivalName = "millrace/arrival"

// AddArrival adds an operation that runs after another one and returns the time. A
// [Subject] yields its output with each batch.
func AddArrival(s *graph.Scope, after *tfbridge.Operation) steps.NamedOutput {
	s = s.SubScope("arrival").WithControlDependencies(after)
	return steps.NamedOutput{Name: arrivalName, Output: steps.Now(s)}
}

// WorkerSecondsName is the output of a joined signature with the seconds that each process
// of a cluster took for its part of the step.
const WorkerSecondsName = "millrace/worker_seconds"

// Names of the outputs of a joined signature in a training with parameter servers; see
// trainstep.Step.
const (
	UpdatesName = "millrace/updates"
	StopName    = "millrace/stop"
)

// clock adds up the time that steps take.
type clock struct {
	began  time.Duration // start of the current step, since epoch
	marked Progress      // since the last mark
	total  Progress      // since the start
}

// start starts the time of a step.
func (c *clock) start() { c.began = steps.SinceEpoch() }

// stop ends it. The batch of the step arrived at a moment since epoch. The processes of a
// cluster, if there is one, took some seconds for their parts.
func (c *clock) stop(examples int64, arrived time.Duration, workers []float32) {
	now := steps.SinceEpoch()
	for _, p := range []*Progress{&c.marked, &c.total} {
		p.Steps++
		p.Examples += examples
		p.Duration += now - c.began
		p.InputWait += min(max(0, arrived-c.began), now-c.began)
		if workers == nil {
			continue
		}
		sums := make([]float64, len(workers)) // hooks may keep the old ones
		copy(sums, p.WorkerSeconds)
		for i, seconds := range workers {
			sums[i] += float64(seconds)
		}
		p.WorkerSeconds = sums
	}
}

// mark returns the progress since the last call.
func (c *clock) mark() Progress {
	p := c.marked
	c.marked = Progress{}
	return p
}
