package inference

import (
	"cmp"
	"context"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/servingproto"
	"millrace/tfbridge"
)

// The methods of the tasks of a MultiInference request.
const (
	classifyMethod = "tensorflow/serving/classify"
	regressMethod  = "tensorflow/serving/regress"
)

// MultiInference classifies and regresses the same Examples by several signatures
// of one model.
func MultiInference(ctx context.Context, m Model, r *servingproto.MultiInferenceRequest) (*servingproto.MultiInferenceResponse, error) {
	if err := checkTasks(r.GetTasks()); err != nil {
		return nil, err
	}
	answer := &servingproto.MultiInferenceResponse{}
	for i, task := range r.GetTasks() {
		if i == 1 {
			m = counted{m}
		}
		key := cmp.Or(task.GetModelSpec().GetSignatureName(), graph.DefaultSignature)
		result := &servingproto.InferenceResult{ModelSpec: &servingproto.ModelSpec{SignatureName: key}}
		switch task.GetMethodName() {
		case classifyMethod:
			classes, err := classify(ctx, m, key, inputOf(r.GetInput()))
			if err != nil {
				return nil, err
			}
			result.Result = &servingproto.InferenceResult_ClassificationResult{ClassificationResult: classes}
		case regressMethod:
			values, err := regress(ctx, m, key, inputOf(r.GetInput()))
			if err != nil {
				return nil, err
			}
			result.Result = &servingproto.InferenceResult_RegressionResult{RegressionResult: values}
		}
		answer.Results = append(answer.Results, result)
	}
	return answer, nil
}

// counted is a model for which the Examples of a request have been counted already: all
// tasks have the same.
type counted struct{ Model }

// CountExamples does nothing.
func (counted) CountExamples(int) {}

// checkTasks returns an error unless the tasks are of one model, of different
// signatures, and of known methods.
func checkTasks(tasks []*servingproto.InferenceTask) error {
	if len(tasks) == 0 {
		return invalid("the request has no tasks")
	}
	seen := map[string]bool{}
	for _, task := range tasks {
		spec := task.GetModelSpec()
		key := cmp.Or(spec.GetSignatureName(), graph.DefaultSignature)
		switch {
		case spec.GetName() == "":
			return invalid("Found ModelSpec with an empty model name.")
		case spec.GetName() != tasks[0].GetModelSpec().GetName():
			return invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
		case seen[key]:
			return invalid("Duplicate evaluation of signature: %s", millrace.Quote(key))
		case task.GetMethodName() != classifyMethod && task.GetMethodName() != regressMethod:
			e := millrace.Errorf(millrace.ErrModel, "Unsupported signature method_name: %s", millrace.Quote(task.GetMethodName()))
			e.Code = int(tfbridge.Unimplemented)
			return e
		}
		seen[key] = true
	}
	return nil
}
