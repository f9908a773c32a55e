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

// Model is a model on which requests are carried out. [millrace/serving.Version] is
// one.
type Model interface {
	Signatures() map[string]tfbridge.Signature
	// ChecksMethodNames reports whether Classify and Regress require a signature with
	// their method_name.
	ChecksMethodNames() bool
	// CountExamples is called with the number of Examples of each request.
	CountExamples(n int)
	Predict(ctx context.Context, signature string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error)
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrModel, format, args...)
}

// checkMethod returns an error if a signature's method_name does not fit the request,
// and the model checks that.
func checkMethod(m Model, sig tfbridge.Signature, what, want string) error {
	if !m.ChecksMethodNames() || sig.MethodName == want {
		return nil
	}
	return invalid("Expected %s signature method_name to be %s. Was: %s", what, want, sig.MethodName)
}

// closeAll closes the tensors of a request or of an answer.
func closeAll(tensors map[string]*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}
