package training

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"millrace"
	"millrace/estimator/metrics"
	"millrace/graph/steps"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Metric is one metric of an evaluation. Labels, Predictions and Weights name
// outputs of the signature or tensors of the source.
type Metric struct {
	Name string // under which it is reported
	metrics.Spec
	Labels      string // "" for a metric that needs none
	Predictions string
	Weights     string // "": every example counts alike
}

// EvaluateOptions says what an evaluation computes. Nil and the zero value mean
// the mean of the output "loss" of the model's default signature.
type EvaluateOptions struct {
	Signature string   // "": the default one of the model
	Loss      string   // a scalar output to average over the batches, weighted by their rows; "": "loss"; ignored if there is none
	Metrics   []Metric // besides

	// Objective is the objective of the training, or nil. If the signature has no output
	// "loss", its loss is computed from the signature's predictions and the source's
	// labels.
	Objective *Objective

	Steps int64 // the evaluation ends after this many batches; 0: with the data
}

// Evaluation is the result of an evaluation.
type Evaluation struct {
	Names    []string // names of the metrics, in order; "loss" comes first if there is one
	Values   map[string]metrics.Value
	Steps    int64
	Examples int64
	Duration time.Duration
	Warnings []string // oddities of the inputs of metrics, such as logits instead of probabilities
}

// metric returns the value of a metric that is a number.
func (e *Evaluation) metric(name string) (float64, error) {
	v, ok := e.Values[name]
	if !ok || v.Matrix != nil {
		return 0, millrace.Errorf(millrace.ErrConfig, "the evaluation has no metric %q that is a number; it has %q", name, e.Names)
	}
	return v.Number, nil
}

// finite returns the metrics that are finite numbers.
func (e *Evaluation) finite() map[string]float64 {
	values := map[string]float64{}
	for name, v := range e.Values {
		if v.Matrix == nil && !math.IsNaN(v.Number) && !math.IsInf(v.Number, 0) {
			values[name] = v.Number
		}
	}
	return values
}

// evaluateAhead is how many steps run ahead of an evaluation: enough for the model to work
// while the metrics are computed.
const evaluateAhead = 2

// Evaluator evaluates a joined signature, more than once, with the values that the
// variables have at the time.
type Evaluator struct {
	joined *Joined
	o      *EvaluateOptions
	loss   string // "": the signature has none
}

// NewEvaluator returns an evaluator of a signature, which join joins to data. The data's
// tensors of the names in keep must be among the outputs.
func NewEvaluator(signature *savedmodel.Signature, o *EvaluateOptions, join func(keep []string) (*Joined, error)) (*Evaluator, error) {
	e := &Evaluator{o: o}
	if _, err := e.newMetrics(); err != nil {
		return nil, err
	}
	isOutput := func(name string) bool {
		return slices.ContainsFunc(signature.Outputs, func(t savedmodel.Tensor) bool { return t.Name == name })
	}
	if loss := cmp.Or(o.Loss, "loss"); isOutput(loss) {
		e.loss = loss
	}
	var keep []string
	for _, metric := range o.Metrics {
		for _, name := range []string{metric.Labels, metric.Predictions, metric.Weights} {
			if name != "" && !isOutput(name) && !slices.Contains(keep, name) {
				keep = append(keep, name)
			}
		}
	}
	var err error
	if e.joined, err = join(keep); err != nil {
		return nil, err
	}
	if e.loss == "" && slices.Contains(e.joined.Outputs, LossOutput) {
		e.loss = LossOutput
	}
	return e, nil
}

// newMetrics returns the metrics over no batches.
func (e *Evaluator) newMetrics() ([]metrics.Metric, error) {
	list := make([]metrics.Metric, len(e.o.Metrics))
	for i, m := range e.o.Metrics {
		var err error
		if list[i], err = metrics.New(&m.Spec); err != nil {
			return nil, err
		}
		if m.Own == nil && m.Type.NeedsLabels() && m.Labels == "" || m.Predictions == "" {
			return nil, millrace.Errorf(millrace.ErrConfig, "metric %q: name the labels and the predictions", m.Name)
		}
	}
	return list, nil
}

// Run evaluates. Only one run of an evaluator is allowed at a time.
func (e *Evaluator) Run(ctx context.Context) (*Evaluation, error) {
	list, err := e.newMetrics()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	result := &Evaluation{Values: map[string]metrics.Value{}}
	var loss, rows float64
	for batch, err := range e.joined.Run(ctx, &steps.Options{Ahead: evaluateAhead, Steps: e.o.Steps}) {
		if err != nil {
			return nil, err
		}
		result.Steps++
		result.Examples += batch.Rows()
		if v, ok := scalar(batch.Tensor(e.loss)); ok {
			loss += v * float64(batch.Rows())
			rows += float64(batch.Rows())
		}
		if err := e.add(list, batch); err != nil {
			return nil, err
		}
	}
	if e.loss != "" {
		result.Names = append(result.Names, e.loss)
		result.Values[e.loss] = metrics.Value{Number: loss / rows}
	}
	for i, m := range e.o.Metrics {
		result.Names = append(result.Names, m.Name)
		result.Values[m.Name] = list[i].Result()
		if w, ok := list[i].(metrics.Warner); ok && w.Warning() != "" {
			result.Warnings = append(result.Warnings, fmt.Sprintf("metric %q: %s", m.Name, w.Warning()))
		}
	}
	result.Duration = time.Since(began)
	return result, nil
}

// add adds a batch to the metrics.
func (e *Evaluator) add(list []metrics.Metric, batch *steps.Batch) error {
	arrays := map[string]*metrics.Array{}
	array := func(name string) (*metrics.Array, error) {
		if name == "" || arrays[name] != nil {
			return arrays[name], nil
		}
		a, err := metrics.ArrayOf(batch.Tensor(name), nil)
		arrays[name] = a
		return a, err
	}
	for i, m := range e.o.Metrics {
		labels, err := array(m.Labels)
		if err != nil {
			return e.metricError(&m, err)
		}
		predictions, err := array(m.Predictions)
		if err != nil {
			return e.metricError(&m, err)
		}
		weights, err := array(m.Weights)
		if err != nil {
			return e.metricError(&m, err)
		}
		if err := list[i].Add(&metrics.Batch{Labels: labels, Predictions: predictions, Weights: weights}); err != nil {
			return e.metricError(&m, err)
		}
	}
	return nil
}

// metricError adds the place to the error of a metric.
func (e *Evaluator) metricError(m *Metric, err error) error {
	f := millrace.Errorf(millrace.ErrModel, "metric %q: %w", m.Name, err)
	f.File, f.Signature = e.joined.Dir, e.joined.Signature.Name
	return f
}

// scalar returns the value of a scalar tensor that is a number.
func scalar(t *tfbridge.Tensor) (float64, bool) {
	if t == nil || len(t.Shape()) > 0 {
		return 0, false
	}
	switch v := t.Value().(type) {
	case float32:
		return float64(v), true
	case float64:
		return v, true
	case tfbridge.Float16:
		return float64(v.Float32()), true
	case tfbridge.BFloat16:
		return float64(v.Float32()), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}
