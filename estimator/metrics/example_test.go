package metrics_test

import (
	"fmt"
	"math"

	"millrace"
	"millrace/estimator/metrics"
)

// Within is a metric: the share of predictions that are near their label.
type Within struct {
	Distance      float64
	near, counted float64
}

func (w *Within) Add(b *metrics.Batch) error {
	if len(b.Labels.Values) != len(b.Predictions.Values) {
		return millrace.Errorf(millrace.ErrModel, "%d labels and %d predictions", len(b.Labels.Values), len(b.Predictions.Values))
	}
	for i, label := range b.Labels.Values {
		if math.Abs(label-b.Predictions.Values[i]) <= w.Distance {
			w.near++
		}
		w.counted++
	}
	return nil
}

func (w *Within) Result() metrics.Value { return metrics.Value{Number: w.near / w.counted} }

// A metric from outside the package: a type with two methods. An evaluation makes one of each
// spec among EvaluateOptions.Metrics, and adds its batches.
func ExampleMetric() {
	spec := metrics.Spec{Own: func() metrics.Metric { return &Within{Distance: 0.5} }}
	m, err := metrics.New(&spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, predictions := range [][]float64{{1, 2.25}, {3.5, 9}} {
		err := m.Add(&metrics.Batch{
			Labels:      &metrics.Array{Shape: []int64{2}, Values: []float64{1, 2}},
			Predictions: &metrics.Array{Shape: []int64{2}, Values: predictions},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(m.Result().Number)
	// Output: 0.5
}
