package metrics

import (
	"math"
	"slices"
)

// mean is the mean of a function of labels and predictions.
type mean struct {
	ratio
	labels bool
	of     func(label, prediction float64) float64
}

// Add adds a batch.
func (m *mean) Add(b *Batch) error {
	return eachPair(b, m.labels, func(label, prediction, weight float64) { m.add(m.of(label, prediction), weight) })
}

// Result returns the mean.
func (m *mean) Result() Value { return m.value() }

// eachPair calls visit for each prediction with its label.
func eachPair(b *Batch, labels bool, visit func(label, prediction, weight float64)) error {
	p := b.Predictions
	if labels && len(b.Labels.Values) != len(p.Values) || labels && !samePairs(b.Labels.Shape, p.Shape) {
		return badShape("labels and predictions must have the same shape", b)
	}
	weight, err := weightOf(b.Weights, p.Shape)
	if err != nil {
		return err
	}
	for i, v := range p.Values {
		label := 0.0
		if labels {
			label = b.Labels.Values[i]
		}
		visit(label, v, weight(i))
	}
	return nil
}

// samePairs reports whether two shapes are the same but for a last dimension of 1.
func samePairs(a, b []int64) bool {
	trim := func(s []int64) []int64 {
		if n := len(s); n > 0 && s[n-1] == 1 {
			return s[:n-1]
		}
		return s
	}
	return slices.Equal(a, b) || slices.Equal(trim(a), trim(b))
}

// detection is precision or recall.
type detection struct {
	threshold float64
	recall    bool

	hits, found, wanted float64
}

// Add adds a batch.
func (d *detection) Add(b *Batch) error {
	return eachPair(b, true, func(label, prediction, weight float64) {
		positive := prediction > d.threshold
		if label != 0 {
			d.wanted += weight
			if positive {
				d.hits += weight
			}
		}
		if positive {
			d.found += weight
		}
	})
}

// Result returns the share, 0 of nothing as with Keras.
func (d *detection) Result() Value {
	of := d.found
	if d.recall {
		of = d.wanted
	}
	if of == 0 {
		return Value{}
	}
	return Value{Number: d.hits / of}
}

// numThresholds is how many thresholds the ROC curve has, as with Keras.
const numThresholds = 200

// auc counts positives and negatives between thresholds.
type auc struct {
	thresholds          []float64
	positives, negative []float64 // counts by the number of thresholds below the prediction
}

// newAUC takes the distance of the outermost thresholds from 0 and 1. With 0 a prediction
// of 0 is above none.
func newAUC(epsilon float64) *auc {
	a := &auc{positives: make([]float64, numThresholds+1), negative: make([]float64, numThresholds+1)}
	a.thresholds = append(a.thresholds, -epsilon)
	for i := range numThresholds - 2 {
		a.thresholds = append(a.thresholds, float64(i+1)/(numThresholds-1))
	}
	a.thresholds = append(a.thresholds, 1+epsilon)
	return a
}

// Add adds a batch.
func (a *auc) Add(b *Batch) error {
	return eachPair(b, true, func(label, prediction, weight float64) {
		above, _ := slices.BinarySearch(a.thresholds, min(max(prediction, 0), 1)) // thresholds less than the prediction
		if label != 0 {
			a.positives[above] += weight
		} else {
			a.negative[above] += weight
		}
	})
}

// Result returns the area, by the trapezoidal rule.
func (a *auc) Result() Value {
	positives, negatives := total(a.positives), total(a.negative)
	if positives+negatives == 0 {
		return Value{Number: math.NaN()}
	}
	area, hits, alarms := 0.0, 0.0, 0.0
	lastHit, lastAlarm := 0.0, 0.0
	for i := numThresholds; i >= 0; i-- { // from the highest threshold down
		hits, alarms = hits+a.positives[i], alarms+a.negative[i]
		hit, alarm := share(hits, positives), share(alarms, negatives)
		area += (alarm - lastAlarm) * (hit + lastHit) / 2
		lastHit, lastAlarm = hit, alarm
	}
	return Value{Number: area}
}

// share returns a / of, 0 of nothing.
func share(a, of float64) float64 {
	if of == 0 {
		return 0
	}
	return a / of
}
