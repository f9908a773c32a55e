package serving

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"

	"millrace/graph"
	"millrace/serving/internal/answers"
	"millrace/serving/internal/pipeline"
	"millrace/tfbridge"
)

// Predict runs a signature, in a batch with other requests if the server has
// batching and the signature allows it. Arguments, results and errors are those
// of [graph.Model.Call] and [batching.Batcher.Predict].
func (v *Version) Predict(ctx context.Context, signature string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	if signature == "" {
		signature = graph.DefaultSignature
	}
	var key answers.Key
	known := false
	if v.answers != nil {
		if key, known = v.answers.Key(v.Number, signature, inputs, outputs); known {
			if answer := v.answers.Find(key); answer != nil {
				return answer, nil
			}
		}
	}
	answer, err := v.predict(ctx, signature, inputs, outputs)
	if err != nil {
		return nil, err
	}
	if known {
		v.answers.Add(key, answer)
	}
	shadow(v, signature, inputs)
	return answer, nil
}

// predict is Predict without cache and shadow.
func (v *Version) predict(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if v.Loader(signature) != nil {
		return v.predictRecords(ctx, signature, inputs, outputs)
	}
	return v.run(ctx, signature, inputs, outputs)
}

// run runs a signature, in a batch with other requests if possible.
func (v *Version) run(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if b := v.batchers[signature]; b != nil {
		return b.Predict(ctx, inputs, outputs...)
	}
	return v.call(ctx, signature, inputs, outputs)
}

// call runs a signature on a request alone.
func (v *Version) call(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	if parent := trace.SpanFromContext(ctx); parent.IsRecording() {
		_, span := parent.TracerProvider().Tracer("millrace/serving").Start(ctx, "run")
		defer span.End()
	}
	pace := v.paces[signature]
	began := time.Now()
	results, err := v.model.Call(pace.context(ctx), signature, inputs, outputs...)
	took := time.Since(began)
	pace.record(took)
	if onRun := v.server.options.OnRun; onRun != nil {
		onRun(RunInfo{Model: v.Name, Version: v.Number, Signature: signature, API: apiOf(v.signatures[signature]), Took: took, Err: err})
	}
	return results, err
}

// apiOf returns TensorFlow Serving's name of a signature's method.
func apiOf(signature tfbridge.Signature) string {
	switch signature.MethodName {
	case "tensorflow/serving/classify":
		return "Classify"
	case "tensorflow/serving/regress":
		return "Regress"
	}
	return "Predict"
}

// predictRecords runs a signature on serialized records. Doubtful records run alone, so
// that they cannot fail other requests.
func (v *Version) predictRecords(ctx context.Context, signature string, inputs map[string]any, outputs []string) (map[string]*tfbridge.Tensor, error) {
	t, ok := inputs[pipeline.Input].(*tfbridge.Tensor)
	if !ok && inputs[pipeline.Input] != nil {
		var err error
		if t, err = graph.InputTensor(v.signatures[signature].Inputs[pipeline.Input], inputs[pipeline.Input]); err != nil {
			return nil, invalid("input %q: %w", pipeline.Input, err)
		}
		defer t.Close()
		inputs = maps.Clone(inputs)
		inputs[pipeline.Input] = t
	}
	if !t.IsOpen() || t.DataType() != tfbridge.String {
		return v.run(ctx, signature, inputs, outputs) // its error describes the fault
	}
	records, err := t.Strings()
	if err != nil {
		return nil, err
	}
	doubt, err := v.pipeline.Check(records)
	if err != nil {
		return nil, err
	}
	if doubt == nil {
		results, err := v.run(ctx, signature, inputs, outputs)
		return results, v.pipeline.Explain(err)
	}
	results, err := v.call(ctx, signature, inputs, outputs)
	switch CodeOf(err) {
	case tfbridge.InvalidArgument, tfbridge.DataLoss:
		return nil, doubt
	}
	return results, err
}
