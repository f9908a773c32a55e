package steps

import (
	"time"

	"millrace/graph"
	"millrace/tfbridge"
)

// epoch is the moment from which Now and SinceEpoch count.
var epoch = time.Now()

// SinceEpoch returns the time since a fixed moment of the process.
func SinceEpoch() time.Duration { return time.Since(epoch) }

// Now adds an operation that returns [SinceEpoch] when it runs: an int64 scalar, in
// nanoseconds. It calls a Go function, because TensorFlow's operation Timestamp is refused
// where operations must be deterministic.
func Now(s *graph.Scope) tfbridge.Output {
	return graph.GoCall(s, graph.GoCallSpec{
		Name: "now", Out: []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		Fn: func(c *tfbridge.Call) {
			t, err := tfbridge.NewTensor(int64(SinceEpoch()))
			if err != nil {
				c.Fail(err)
				return
			}
			c.Return(t)
		},
	})[0]
}
