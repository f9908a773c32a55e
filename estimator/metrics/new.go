package metrics

import (
	"cmp"
	"math"
	"slices"

	"millrace"
)

// New returns a metric over no batches.
func New(s *Spec) (Metric, error) {
	if s.Own != nil {
		return s.Own(), nil
	}
	if s.Type.OfProbabilities() {
		return ofProbabilities(s)
	}
	switch s.Type {
	case TopK:
		return &topK{k: cmp.Or(s.K, 5)}, nil
	case Mean:
		return &mean{of: func(_, p float64) float64 { return p }}, nil
	case MeanSquaredError:
		return &mean{labels: true, of: square}, nil
	case RootMeanSquaredError:
		return &rootMean{mean{labels: true, of: square}}, nil
	case MeanAbsoluteError:
		return &mean{labels: true, of: func(l, p float64) float64 { return math.Abs(l - p) }}, nil
	case MeanAbsolutePercentageError:
		return &mean{labels: true, of: percentage}, nil
	case R2Score:
		return &r2{}, nil
	case Perplexity:
		return &perplexity{probabilities: s.Probabilities}, nil
	case ConfusionMatrix:
		if len(s.Classes) > maxClasses {
			return nil, millrace.Errorf(millrace.ErrLimit, "%d class names: a confusion matrix has at most %d classes", len(s.Classes), maxClasses)
		}
		return &confusion{names: s.Classes}, nil
	case MeanIoU:
		return &meanIoU{}, nil
	}
	return nil, millrace.Errorf(millrace.ErrConfig, "there is no metric %q; there are %q", s.Type, Types)
}

// ofProbabilities returns a metric of probabilities, or of the logits that the spec says
// they are.
func ofProbabilities(s *Spec) (Metric, error) {
	m, err := probable(s)
	if err != nil {
		return nil, err
	}
	if s.Logits {
		return &logits{Metric: m}, nil
	}
	if s.Type == Accuracy { // which refuses them
		return m, nil
	}
	return &ranged{Metric: m, classes: s.Type == F1Score && s.Threshold == 0}, nil
}

// probable returns a metric of probabilities.
func probable(s *Spec) (Metric, error) {
	threshold := cmp.Or(s.Threshold, 0.5)
	switch s.Type {
	case Precision, Recall:
		return &detection{threshold: threshold, recall: s.Type == Recall}, nil
	case AUC:
		return newAUC(smallest), nil
	case PRAUC:
		return &prAUC{*newAUC(smallest)}, nil
	case PrecisionAtRecall:
		if !(s.Recall > 0 && s.Recall <= 1) {
			return nil, millrace.Errorf(millrace.ErrConfig, "metric %s: the recall is %v; give one above 0, at most 1", s.Type, s.Recall)
		}
		return &precisionAtRecall{auc: *newAUC(0), recall: s.Recall}, nil
	case BinaryAccuracy:
		return &mean{labels: true, of: func(l, p float64) float64 { return indicator(l == indicator(p > threshold)) }}, nil
	case F1Score:
		if averages := []string{"", "macro", "micro", "weighted"}; !slices.Contains(averages, s.Average) {
			return nil, millrace.Errorf(millrace.ErrConfig, "metric %s: there is no average %q; there are %q", s.Type, s.Average, averages[1:])
		}
		return &f1{threshold: s.Threshold, average: s.Average}, nil
	}
	return &accuracy{}, nil
}

// square returns the squared error.
func square(l, p float64) float64 { return (l - p) * (l - p) }
