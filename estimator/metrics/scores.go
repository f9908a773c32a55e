package metrics

import (
	"math"
	"slices"
)

// f1 counts hits and misses class by class.
type f1 struct {
	threshold float64 // 0: the highest score of several is positive
	average   string

	hits, alarms, misses []float64
}

// Add adds a batch.
func (f *f1) Add(b *Batch) error {
	p := b.Predictions
	if labels := squeezed(b.Labels.Shape, p.Shape); len(p.Shape) == len(labels)+1 && !samePairs(labels, p.Shape) {
		return eachScores(b, func(label int, scores []float64, weight float64) error {
			f.count(scores, func(class int) float64 { return indicator(class == label) }, func(int) float64 { return weight })
			return nil
		})
	}
	return eachRow(b, func(labels, predictions []float64, weight func(i int) float64) {
		f.count(predictions, func(class int) float64 { return labels[class] }, weight)
	})
}

// count counts one example.
func (f *f1) count(scores []float64, label, weight func(class int) float64) {
	for len(f.hits) < len(scores) {
		f.hits, f.alarms, f.misses = append(f.hits, 0), append(f.alarms, 0), append(f.misses, 0)
	}
	threshold := f.threshold
	if threshold == 0 && len(scores) == 1 {
		threshold = 0.5
	}
	highest := slices.Max(scores)
	for i, s := range scores {
		positive := s > threshold
		if threshold == 0 {
			positive = s >= highest && math.Abs(s) > 1e-9
		}
		l, w := label(i), weight(i)
		if positive {
			f.hits[i] += l * w
			f.alarms[i] += (1 - l) * w
		} else {
			f.misses[i] += l * w
		}
	}
}

// Result returns the average over the classes.
func (f *f1) Result() Value {
	var hits, alarms, misses, sum, weighted float64
	for i := range f.hits {
		hits, alarms, misses = hits+f.hits[i], alarms+f.alarms[i], misses+f.misses[i]
		score := share(2*f.hits[i], 2*f.hits[i]+f.alarms[i]+f.misses[i])
		sum += score
		weighted += score * (f.hits[i] + f.misses[i])
	}
	switch f.average {
	case "micro":
		return Value{Number: share(2*hits, 2*hits+alarms+misses)}
	case "weighted":
		return Value{Number: share(weighted, hits+misses)}
	}
	return Value{Number: share(sum, float64(len(f.hits)))}
}

// indicator returns 1 or 0.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// meanIoU is the mean over the classes that occur.
type meanIoU struct{ confusion }

// Result returns the mean, 0 of nothing.
func (m *meanIoU) Result() Value {
	sum, occur := 0.0, 0.0
	for i, row := range m.counts {
		union := -row[i]
		for j, n := range row {
			union += n + m.counts[j][i]
		}
		if union > 1e-9 {
			sum += row[i] / union
			occur++
		}
	}
	return Value{Number: share(sum, occur)}
}

// precisionAtRecall is the best precision among the thresholds whose recall suffices.
type precisionAtRecall struct {
	auc
	recall float64
}

// Result returns the precision, 0 where no threshold reaches the recall.
func (p *precisionAtRecall) Result() Value {
	best, positives := 0.0, total(p.positives)
	hits, alarms := 0.0, 0.0
	for i := numThresholds; i > 0; i-- { // from the highest threshold down
		hits, alarms = hits+p.positives[i], alarms+p.negative[i]
		if share(hits, positives) >= p.recall {
			best = max(best, share(hits, hits+alarms))
		}
	}
	return Value{Number: best}
}

// prAUC is the area under the curve of precision over recall.
type prAUC struct{ auc }

// Result returns the area. Between two thresholds the precision is interpolated by the
// method of Davis and Goadrich: true positives grow in proportion to positive
// predictions.
func (a *prAUC) Result() Value {
	positives := total(a.positives)
	if positives+total(a.negative) == 0 {
		return Value{Number: math.NaN()}
	}
	area, hits, found := 0.0, 0.0, 0.0
	for i := numThresholds; i > 0; i-- { // from the highest threshold down
		newHits, newFound := a.positives[i], a.positives[i]+a.negative[i]
		if newFound > 0 {
			slope := newHits / newFound
			ratio := 1.0
			if found > 0 {
				ratio = (found + newFound) / found
			}
			area += share(slope*(newHits+(hits-slope*found)*math.Log(ratio)), positives)
		}
		hits, found = hits+newHits, found+newFound
	}
	return Value{Number: area}
}

// total returns a sum.
func total(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}
