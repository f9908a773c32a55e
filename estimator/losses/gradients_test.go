package losses_test

import (
	"fmt"
	"testing"

	"millrace/estimator/losses"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// The derivative of each loss with respect to its predictions is the one of Keras.
func TestKerasGradients(t *testing.T) {
	for i, r := range readRecorded(t) {
		t.Run(fmt.Sprintf("%d_%s", i, r.Loss.Type), func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			predictions := r.Predictions.output(t, s, false)
			loss := r.Loss.Add(s, losses.Values{
				Labels: r.Labels.output(t, s, r.Integers), Predictions: predictions, Weights: r.Weights.output(t, s, false),
			})
			d := gradients.Add(s, []tfbridge.Output{loss}, []tfbridge.Output{predictions}, nil)
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			near(t, "derivative", run(t, s, d[0]), r.Gradient.Values)
		})
	}
}
