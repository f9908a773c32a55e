package serving

import (
	"context"
	"maps"

	"millrace/graph"
	"millrace/loaders"
	"millrace/serving/internal/pipeline"
	"millrace/tfbridge"
)

// ExamplesInput is the only input of a signature with a loader: serialized records.
const ExamplesInput = pipeline.Input

// addLoader puts the model's loader, if it has one, in front of its signatures.
func (v *Version) addLoader() (err error) {
	v.meta = v.model.Saved().Program().MetaGraph
	plan := v.server.options.Loaders[v.Name]
	if plan == nil {
		return nil
	}
	if v.pipeline, err = pipeline.Add(v.model, plan); err != nil {
		return err
	}
	added := map[string]tfbridge.Signature{}
	for _, key := range v.pipeline.Keys {
		added[key] = v.model.Signatures()[key]
	}
	v.meta, err = pipeline.AddSignatures(v.meta, added)
	return err
}

// Loader returns the plan of the loader in front of a signature, nil if there is none.
func (v *Version) Loader(signature string) *loaders.Plan {
	if !v.pipeline.Has(signature) {
		return nil
	}
	return v.pipeline.Plan
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
