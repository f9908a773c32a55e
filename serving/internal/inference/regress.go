package inference

import (
	"cmp"
	"context"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/servingproto"
	"millrace/tfbridge"
)

// regressOutput is the output of a regression.
const regressOutput = "outputs"

// Regress runs the signature that a request names on its Examples. The signature
// has the input "inputs" and the output "outputs", floats of shape [examples] or
// [examples, 1].
func Regress(ctx context.Context, m Model, r *servingproto.RegressionRequest) (*servingproto.RegressionResponse, error) {
	key := cmp.Or(r.GetModelSpec().GetSignatureName(), graph.DefaultSignature)
	result, err := regress(ctx, m, key, inputOf(r.GetInput()))
	if err != nil {
		return nil, err
	}
	return &servingproto.RegressionResponse{ModelSpec: &servingproto.ModelSpec{SignatureName: key}, Result: result}, nil
}

// RegressRecords is [Regress] for serialized Examples.
func RegressRecords(ctx context.Context, m Model, key string, records []string) (*servingproto.RegressionResult, error) {
	return regress(ctx, m, key, func() ([]string, error) { return records, nil })
}

// regress runs a signature on Examples.
func regress(ctx context.Context, m Model, key string, input examples) (*servingproto.RegressionResult, error) {
	sig, err := signature(m, key)
	if err != nil {
		return nil, err
	}
	if err := checkMethod(m, sig, "regression", regressMethod); err != nil {
		return nil, err
	}
	if err := takesExamples(sig); err != nil {
		return nil, err
	}
	if _, ok := sig.Outputs[regressOutput]; !ok {
		return nil, noOutputs()
	}
	results, n, err := run(ctx, m, key, input, []string{regressOutput})
	if err != nil {
		return nil, err
	}
	defer closeAll(results)
	t := results[regressOutput]
	shape := t.Shape()
	if t.DataType() != tfbridge.Float || len(shape) == 0 || len(shape) > 2 || shape[0] != n || len(shape) == 2 && shape[1] != 1 {
		return nil, invalid("the output %q of %d examples must be float32 of shape [%d] or [%d, 1], it is %v", regressOutput, n, n, n, t)
	}
	values, err := tfbridge.View[float32](t)
	result := &servingproto.RegressionResult{}
	for _, v := range values {
		result.Regressions = append(result.Regressions, &servingproto.Regression{Value: v})
	}
	return result, err
}

// noOutputs returns the error for a signature that is not for regression.
func noOutputs() error {
	e := millrace.Errorf(millrace.ErrModel, "a signature for regression has the output %q", regressOutput)
	e.Code = int(tfbridge.FailedPrecondition)
	return e
}
