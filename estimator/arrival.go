package estimator

import (
	"time"

	"millrace/graph"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// How long does a step wait for its input? Input and model are one run of one graph, so
// from outside only the whole can be timed. An operation after the gate returns the arrival
// time of the batch. It calls a Go function: TensorFlow's operation Timestamp is refused
// where operations must be deterministic.

// arrivalName is the output of a pipeline with the arrival time of the batch, in
// nanoseconds since a fixed moment of the process.
const arrivalName = "millrace/arrival"

// epoch is that moment.
var epoch = time.Now()

// sinceEpoch returns the time that arrivals are measured in.
func sinceEpoch() time.Duration { return time.Since(epoch) }

// addArrival adds the operation to a pipeline.
func (p *Pipeline) addArrival(s *graph.Scope) error {
	s = s.SubScope("arrival").WithControlDependencies(p.gate.Tensors[0].Output.Op)
	now := graph.GoCall(s, graph.GoCallSpec{
		Name: "arrival", Out: []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		Fn: func(c *tfbridge.Call) {
			t, err := tfbridge.NewTensor(int64(sinceEpoch()))
			if err != nil {
				c.Fail(err)
				return
			}
			c.Return(t)
		},
	})
	p.fetch = append(p.fetch, steps.NamedOutput{Name: arrivalName, Output: now[0]})
	return s.Err()
}
