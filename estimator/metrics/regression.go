package metrics

import "math"

// rootMean is the square root of a mean.
type rootMean struct{ mean }

// Result returns the root.
func (r *rootMean) Result() Value { return Value{Number: math.Sqrt(r.value().Number)} }

// percentage is the error of a prediction as a percentage of its label.
func percentage(label, prediction float64) float64 {
	return 100 * math.Abs(label-prediction) / max(math.Abs(label), smallest)
}

// r2 compares the squared errors of each column with its labels' variance.
type r2 struct{ columns []column }

// column has the sums of one column. The variance is summed as differences from a
// running mean, so that it is exactly 0 for constant labels.
type column struct{ weight, mean, variance, errors float64 }

// Add adds a batch.
func (r *r2) Add(b *Batch) error {
	return eachRow(b, func(labels, predictions []float64, weight func(i int) float64) {
		for len(r.columns) < len(labels) {
			r.columns = append(r.columns, column{})
		}
		for i, label := range labels {
			r.columns[i].add(label, predictions[i], weight(i))
		}
	})
}

// add adds one label.
func (c *column) add(label, prediction, weight float64) {
	if weight == 0 {
		return
	}
	if c.weight == 0 {
		c.mean = label
	}
	c.weight += weight
	before := label - c.mean
	c.mean += before * weight / c.weight
	c.variance += weight * before * (label - c.mean)
	c.errors += weight * (label - prediction) * (label - prediction)
}

// Result returns the mean over the columns. A column whose labels are all the same
// counts 0, as with Keras, and is NaN if its predictions are perfect.
func (r *r2) Result() Value {
	var sum ratio
	for _, c := range r.columns {
		score := 1 - c.errors/c.variance
		if math.IsInf(score, 0) {
			score = 0
		}
		sum.add(score, 1)
	}
	return sum.value()
}

// eachRow calls visit for each row, which is a single value where predictions have one dimension
// at most, and the values along the last dimension otherwise.
func eachRow(b *Batch, visit func(labels, predictions []float64, weight func(i int) float64)) error {
	p := b.Predictions
	if len(b.Labels.Values) != len(p.Values) || !samePairs(b.Labels.Shape, p.Shape) {
		return badShape("labels and predictions must have the same shape", b)
	}
	weight, err := weightOf(b.Weights, p.Shape)
	if err != nil {
		return err
	}
	size := 1
	if n := len(p.Shape); n > 1 {
		size = int(p.Shape[n-1])
	}
	for i := 0; size > 0 && i < len(p.Values); i += size {
		visit(b.Labels.Values[i:i+size], p.Values[i:i+size], func(j int) float64 { return weight(i + j) })
	}
	return nil
}
