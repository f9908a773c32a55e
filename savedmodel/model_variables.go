package savedmodel

import (
	"path/filepath"
)

// checkVariables checks that the variables a model restores are there and
// whole. A model without variables needs none.
func (r *reader) checkVariables(m *metaGraph) ([]Variable, error) {
	name := filepath.Join(r.dir, indexName)
	if !r.folder.has(indexName) {
		if m.restoreOp == "" || !m.hasVariables() {
			return nil, nil
		}
		return nil, failAt(name, "the file is missing, and with it the model's variables")
	}
	data, err := r.folder.open(indexName).readWhole(MaxIndexBytes)
	if err != nil {
		return nil, err
	}
	b, err := readBundle(name, data)
	if err != nil {
		return nil, err
	}
	b.index, b.prefix, r.bundle = data, variablesPrefix, b
	if err := b.checkHas(name, r.restored); err != nil {
		return nil, err
	}
	if err := b.checkShards(r.folder, !r.options.SkipTensorChecksums); err != nil {
		return nil, err
	}
	return b.variables(), nil
}
