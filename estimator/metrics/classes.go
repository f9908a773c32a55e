package metrics

import (
	"math"
	"slices"
	"strconv"

	"millrace"
)

// eachClass calls visit for each label with the class that was predicted.
func eachClass(b *Batch, visit func(label, class int64, weight float64) error) error {
	labels := squeezed(b.Labels.Shape, b.Predictions.Shape)
	scores := 1
	switch p := b.Predictions; {
	case len(p.Shape) == len(labels)+1 && slices.Equal(p.Shape[:len(labels)], labels) && !p.Whole:
		scores = int(p.Shape[len(labels)])
	case !p.Whole && slices.Equal(p.Shape, labels) && (len(labels) < 2 || labels[len(labels)-1] == 1): // one probability each
	case !slices.Equal(p.Shape, labels) || !p.Whole:
		return badShape("the predictions must be integers of the labels' shape, or have one dimension more with the scores of the classes", b)
	}
	weight, err := weightOf(b.Weights, labels)
	if err != nil {
		return err
	}
	for i, label := range b.Labels.Values {
		class := int64(b.Predictions.Values[i*scores])
		switch {
		case !b.Predictions.Whole && scores == 1:
			if class, err = binaryClass(b.Predictions.Values[i]); err != nil {
				return err
			}
		case !b.Predictions.Whole:
			class = int64(argmax(b.Predictions.Values[i*scores : (i+1)*scores]))
		}
		if err := visit(int64(label), class, weight(i)); err != nil {
			return err
		}
	}
	return nil
}

// binaryClass returns the class of a single probability, as Keras's accuracy of models
// with one output.
func binaryClass(p float64) (int64, error) {
	switch {
	case p < 0 || p > 1:
		return 0, millrace.Errorf(millrace.ErrModel, "a single output per example must be a probability, got %v: if the model gives logits, set \"from\": \"logits\"", p)
	case p > 0.5:
		return 1, nil
	}
	return 0, nil
}

// argmax returns the index of the first highest score.
func argmax(scores []float64) int {
	best := 0
	for i, s := range scores {
		if s > scores[best] || math.IsNaN(scores[best]) && !math.IsNaN(s) {
			best = i
		}
	}
	return best
}

// accuracy is the share of predictions that are the label.
type accuracy struct{ ratio }

// Add adds a batch.
func (a *accuracy) Add(b *Batch) error {
	return eachClass(b, func(label, class int64, weight float64) error {
		hit := 0.0
		if label == class {
			hit = 1
		}
		a.add(hit, weight)
		return nil
	})
}

// Result returns the share.
func (a *accuracy) Result() Value { return a.value() }

// topK is the share of labels among the classes with the highest scores. Classes
// with the score of the k-th count too, as in TensorFlow's InTopK.
type topK struct {
	ratio
	k int64
}

// Add adds a batch.
func (t *topK) Add(b *Batch) error {
	return eachScores(b, func(label int, scores []float64, weight float64) error {
		higher := int64(0)
		finite := !math.IsNaN(scores[label]) && !math.IsInf(scores[label], 0)
		for _, s := range scores {
			if s > scores[label] {
				higher++
			}
		}
		hit := 0.0
		if finite && higher < t.k {
			hit = 1
		}
		t.add(hit, weight)
		return nil
	})
}

// Result returns the share.
func (t *topK) Result() Value { return t.value() }

// eachScores calls visit for each label with the scores of all classes.
func eachScores(b *Batch, visit func(label int, scores []float64, weight float64) error) error {
	labels := squeezed(b.Labels.Shape, b.Predictions.Shape)
	p := b.Predictions
	if len(p.Shape) != len(labels)+1 || !slices.Equal(p.Shape[:len(labels)], labels) {
		return badShape("the predictions must have one dimension more than the labels, with the scores of the classes", b)
	}
	weight, err := weightOf(b.Weights, labels)
	if err != nil {
		return err
	}
	classes := int(p.Shape[len(labels)])
	for i, label := range b.Labels.Values {
		if weight(i) == 0 {
			continue // padding may have any label
		}
		if label < 0 || int(label) >= classes {
			return millrace.Errorf(millrace.ErrModel, "label %d is out of range: there are %d classes", int64(label), classes)
		}
		if err := visit(int(label), p.Values[i*classes:(i+1)*classes], weight(i)); err != nil {
			return err
		}
	}
	return nil
}

// perplexity is exp of the mean cross entropy.
type perplexity struct {
	ratio
	probabilities bool
}

// smallest is the least probability that counts, as with Keras.
const smallest = 1e-7

// Add adds a batch.
func (p *perplexity) Add(b *Batch) error {
	return eachScores(b, func(label int, scores []float64, weight float64) error {
		p.add(p.entropy(label, scores), weight)
		return nil
	})
}

// entropy returns the cross entropy of one label.
func (p *perplexity) entropy(label int, scores []float64) float64 {
	if p.probabilities {
		sum := 0.0
		for _, s := range scores {
			sum += s
		}
		return -math.Log(min(max(scores[label]/sum, smallest), 1-smallest))
	}
	highest, sum := slices.Max(scores), 0.0
	for _, s := range scores {
		sum += math.Exp(s - highest)
	}
	return math.Log(sum) + highest - scores[label]
}

// Result returns exp of the mean.
func (p *perplexity) Result() Value { return Value{Number: math.Exp(p.value().Number)} }

// maxClasses is how many classes a confusion matrix may have.
const maxClasses = 4096

// confusion counts labels by what was predicted for them. It grows with the
// classes that it sees.
type confusion struct {
	counts [][]float64
	names  []string // names of the classes; nil: they have none
}

// Add adds a batch.
func (c *confusion) Add(b *Batch) error {
	if n := len(b.Predictions.Shape); !b.Predictions.Whole && n > 0 {
		if err := c.grow(b.Predictions.Shape[n-1] - 1); err != nil {
			return err
		}
	}
	return eachClass(b, func(label, class int64, weight float64) error {
		if weight == 0 {
			return nil // padding may have any label
		}
		if err := c.grow(max(label, class)); err != nil {
			return err
		}
		if label < 0 || class < 0 {
			return millrace.Errorf(millrace.ErrModel, "label %d, prediction %d: a class is not negative", label, class)
		}
		c.counts[label][class] += weight
		return nil
	})
}

// grow makes room for a class.
func (c *confusion) grow(class int64) error {
	if class >= maxClasses {
		return millrace.Errorf(millrace.ErrLimit, "class %d: a confusion matrix has at most %d classes", class, maxClasses)
	}
	if class < int64(len(c.counts)) {
		return nil
	}
	for int64(len(c.counts)) <= class {
		c.counts = append(c.counts, nil)
	}
	for i := range c.counts {
		for len(c.counts[i]) < len(c.counts) {
			c.counts[i] = append(c.counts[i], 0)
		}
	}
	return nil
}

// Result returns the matrix. Classes beyond the names are named by their number.
func (c *confusion) Result() Value {
	if len(c.names) > 0 {
		c.grow(int64(len(c.names)) - 1) // New has checked the number
	}
	matrix := make([][]float64, len(c.counts))
	for i, row := range c.counts {
		matrix[i] = slices.Clone(row)
	}
	v := Value{Number: math.NaN(), Matrix: matrix}
	if c.names != nil {
		v.Classes = slices.Clone(c.names)
		for i := len(v.Classes); i < len(matrix); i++ {
			v.Classes = append(v.Classes, strconv.Itoa(i))
		}
	}
	return v
}
