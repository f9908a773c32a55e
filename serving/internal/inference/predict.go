package inference

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/serving/internal/tensorproto"
	"millrace/tfbridge"
)

// Options are the options of carrying out requests.
type Options struct {
	// MaxTensorBytes is the largest size in bytes of a tensor of a request.
	MaxTensorBytes int64
	// TensorContent puts the numbers of an answer into the field tensor_content.
	TensorContent bool
}

// Predict runs the signature that a request names on its inputs. The answer names
// the signature; the caller adds the model.
func Predict(ctx context.Context, m Model, r *servingproto.PredictRequest, o Options) (*servingproto.PredictResponse, error) {
	key := cmp.Or(r.GetModelSpec().GetSignatureName(), graph.DefaultSignature)
	sig, err := signature(m, key)
	if err != nil {
		return nil, err
	}
	if err := checkNames(sig, r); err != nil {
		return nil, err
	}
	inputs := map[string]*tfbridge.Tensor{}
	defer func() { closeAll(inputs) }()
	values := map[string]any{}
	for name, p := range r.GetInputs() {
		t, err := tensorproto.Tensor(p, o.MaxTensorBytes)
		if err != nil {
			return nil, tensorError(key, name, err)
		}
		inputs[name], values[name] = t, t
	}
	outputs, err := m.Predict(ctx, key, values, r.GetOutputFilter()...)
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	answer := &servingproto.PredictResponse{
		ModelSpec: &servingproto.ModelSpec{SignatureName: key},
		Outputs:   make(map[string]*tfproto.TensorProto, len(outputs)),
	}
	for name, t := range outputs {
		if answer.Outputs[name], err = tensorproto.Proto(t, o.TensorContent); err != nil {
			return nil, tensorError(key, name, err)
		}
	}
	return answer, nil
}

// signature returns a signature of a model.
func signature(m Model, key string) (tfbridge.Signature, error) {
	all := m.Signatures()
	sig, ok := all[key]
	if !ok {
		e := millrace.Errorf(millrace.ErrModel, "Serving signature key %q not found; the model has %q", key, slices.Sorted(maps.Keys(all)))
		e.Code = int(tfbridge.FailedPrecondition)
		return sig, e
	}
	return sig, nil
}

// checkNames compares the names of a request with the signature's names.
func checkNames(sig tfbridge.Signature, r *servingproto.PredictRequest) error {
	var extra, missing []string
	for name := range r.GetInputs() {
		if _, ok := sig.Inputs[name]; !ok {
			extra = append(extra, name)
		}
	}
	for name := range sig.Inputs {
		if r.GetInputs()[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(extra)+len(missing) > 0 {
		slices.Sort(extra)
		slices.Sort(missing)
		return invalid("the inputs do not match the signature: extra %q, missing %q", extra, missing)
	}
	seen := map[string]bool{}
	for _, name := range r.GetOutputFilter() {
		if _, ok := sig.Outputs[name]; !ok {
			return invalid("output_filter names %s, the signature has the outputs %q", millrace.Quote(name), slices.Sorted(maps.Keys(sig.Outputs)))
		}
		if seen[name] {
			return invalid("output_filter names %s twice", millrace.Quote(name))
		}
		seen[name] = true
	}
	return nil
}

// tensorError returns an error about a tensor of a request or of an answer.
func tensorError(key, name string, err error) error {
	e := millrace.Errorf(millrace.ErrModel, "%w", err)
	e.Signature, e.Tensor = key, name
	return e
}
