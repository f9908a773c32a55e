package inference

import (
	"cmp"
	"context"

	"millrace/graph"
	"millrace/internal/base/servingproto"
	"millrace/tfbridge"
)

// The outputs of a classification.
const classesOutput, scoresOutput = "classes", "scores"

// Classify runs the signature that a request names on its Examples. The signature
// has the input "inputs", and the outputs "classes", strings, or "scores", floats,
// or both, of shape [examples, classes].
func Classify(ctx context.Context, m Model, r *servingproto.ClassificationRequest) (*servingproto.ClassificationResponse, error) {
	key := cmp.Or(r.GetModelSpec().GetSignatureName(), graph.DefaultSignature)
	result, err := classify(ctx, m, key, inputOf(r.GetInput()))
	if err != nil {
		return nil, err
	}
	return &servingproto.ClassificationResponse{ModelSpec: &servingproto.ModelSpec{SignatureName: key}, Result: result}, nil
}

// ClassifyRecords is [Classify] for serialized Examples.
func ClassifyRecords(ctx context.Context, m Model, key string, records []string) (*servingproto.ClassificationResult, error) {
	return classify(ctx, m, key, func() ([]string, error) { return records, nil })
}

// classify runs a signature on Examples.
func classify(ctx context.Context, m Model, key string, input examples) (*servingproto.ClassificationResult, error) {
	sig, err := signature(m, key)
	if err != nil {
		return nil, err
	}
	if err := checkMethod(m, sig, "classification", classifyMethod); err != nil {
		return nil, err
	}
	if err := takesExamples(sig); err != nil {
		return nil, err
	}
	var outputs []string
	for _, name := range []string{classesOutput, scoresOutput} {
		if _, ok := sig.Outputs[name]; ok {
			outputs = append(outputs, name)
		}
	}
	if len(outputs) == 0 || len(sig.Outputs) > 2 {
		return nil, invalid("a signature for classification has the outputs %q or %q or both", classesOutput, scoresOutput)
	}
	results, n, err := run(ctx, m, key, input, outputs)
	if err != nil {
		return nil, err
	}
	defer closeAll(results)
	return classifications(results, n)
}

// classifications returns the classes and scores of n examples.
func classifications(results map[string]*tfbridge.Tensor, n int64) (*servingproto.ClassificationResult, error) {
	var labels []string
	var scores []float32
	var classes int64
	width := int64(-1)
	for _, want := range []struct {
		name  string
		dtype tfbridge.DataType
	}{{classesOutput, tfbridge.String}, {scoresOutput, tfbridge.Float}} {
		t := results[want.name]
		if t == nil {
			continue
		}
		shape := t.Shape()
		switch {
		case t.DataType() != want.dtype || len(shape) != 2 || shape[0] != n:
			return nil, invalid("the output %q of %d examples must be %v of shape [%d, classes], it is %v", want.name, n, want.dtype, n, t)
		case width >= 0 && shape[1] != width:
			return nil, invalid("there are %d classes and %d scores", width, shape[1])
		}
		width, classes = shape[1], shape[1]
	}
	var err error
	if t := results[classesOutput]; t != nil {
		labels, err = t.Strings()
	}
	if t := results[scoresOutput]; t != nil && err == nil {
		scores, err = tfbridge.View[float32](t)
	}
	result := &servingproto.ClassificationResult{}
	for i := range n {
		one := &servingproto.Classifications{}
		for c := i * classes; c < (i+1)*classes; c++ {
			class := &servingproto.Class{}
			if labels != nil {
				class.Label = labels[c]
			}
			if scores != nil {
				class.Score = scores[c]
			}
			one.Classes = append(one.Classes, class)
		}
		result.Classifications = append(result.Classifications, one)
	}
	return result, err
}
