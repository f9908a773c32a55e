package serving

import (
	"millrace/serving/internal/pipeline"
	"millrace/tfbridge"
)

// ExamplesInput is the only input of a signature with a loader: serialized records.
const ExamplesInput = pipeline.Input

// addLoader puts the model's loader, if it has one, in front of its signatures.
func addLoader(v *Version) (err error) {
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
