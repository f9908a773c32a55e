package savedmodel

import (
	"path/filepath"

	"millrace/savedmodel/bundle"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// checkVariables checks that the variables a model restores are there and
// whole. A model without variables needs none.
func (r *reader) checkVariables(m *metagraph.Graph) ([]bundle.Variable, error) {
	name := filepath.Join(r.dir, indexName)
	if !r.folder.Has(indexName) {
		if m.RestoreOp == "" || !m.HasVariables() {
			return nil, nil
		}
		return nil, modelfile.Fail(name, "the file is missing, and with it the model's variables")
	}
	data, err := r.folder.Open(indexName).ReadWhole(bundle.MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Read(name, data)
	if err != nil {
		return nil, err
	}
	b.Data, b.Prefix, r.bundle = data, variablesPrefix, b
	if err := b.CheckHas(name, r.restored); err != nil {
		return nil, err
	}
	if err := b.CheckShards(r.folder, !r.options.SkipTensorChecksums); err != nil {
		return nil, err
	}
	return b.Variables(), nil
}
