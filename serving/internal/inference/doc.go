// Package inference carries out the requests of TensorFlow Serving's
// PredictionService on a model: Predict, Classify, Regress and MultiInference.
//
// The names of inputs and outputs that Classify and Regress need, and the forms of
// their results, are TensorFlow Serving's.
package inference

import (
	"context"

	"millrace"
	"millrace/tfbridge"
)

// Model is a model that requests are carried out on. [millrace/serving.Version] is
// one.
type Model interface {
	Signatures() map[string]tfbridge.Signature
	Predict(ctx context.Context, signature string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error)
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrModel, format, args...)
}

// closeAll closes the tensors of a request or of an answer.
func closeAll(tensors map[string]*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}
