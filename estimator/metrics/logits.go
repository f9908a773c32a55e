package metrics

import (
	"fmt"
	"math"
)

// Warner is a [Metric] that can warn about its inputs. All metrics of probabilities
// warn about values outside [0, 1].
type Warner interface {
	// Warning describes the oddity and a remedy; "" if there was none.
	Warning() string
}

// logits makes a metric of probabilities accept logits.
type logits struct {
	Metric
	buffer []float64
}

// Add adds a batch.
func (l *logits) Add(b *Batch) error {
	l.buffer = l.buffer[:0]
	for _, v := range b.Predictions.Values {
		l.buffer = append(l.buffer, 1/(1+math.Exp(-v)))
	}
	predictions := *b.Predictions
	predictions.Values = l.buffer
	return l.Metric.Add(&Batch{Labels: b.Labels, Predictions: &predictions, Weights: b.Weights})
}

// ranged counts the predictions that cannot be probabilities.
type ranged struct {
	Metric
	classes bool // scores of several classes are compared with each other only

	all, outside int64
	first        float64
}

// Add adds a batch.
func (r *ranged) Add(b *Batch) error {
	p := b.Predictions
	if n := len(p.Shape); !r.classes || n < 2 || p.Shape[n-1] == 1 {
		r.all += int64(len(p.Values))
		for _, v := range p.Values {
			if v >= 0 && v <= 1 {
				continue
			}
			if r.outside == 0 {
				r.first = v
			}
			r.outside++
		}
	}
	return r.Metric.Add(b)
}

// Warning counts the predictions outside [0, 1].
func (r *ranged) Warning() string {
	if r.outside == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d predictions are outside [0, 1], first %v: if the model gives logits, set \"from\": \"logits\"", r.outside, r.all, r.first)
}
