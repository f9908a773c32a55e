package loaders

import "millrace/loaders/diag"

// CheckOptions holds what [Check] can be told. Nil means the defaults.
type CheckOptions struct {
	Model       *ModelNames // the model to be fed; nil = its rules rest
	Seed        *int64      // instead of the config's seed; nil = the config's, or else a fresh one
	Root        string      // a folder that no path may lead out of; "" = any path
	MemoryLimit int64       // bytes that the buffers of the pipeline may hold; 0 = not checked
}

// ModelNames are the tensors that a model takes and gives.
type ModelNames struct {
	Inputs  []string
	Outputs []string
	Specs   map[string]TensorSpec // by name, where dtype and shape are known; a nil Shape is of unknown rank
}

// Check reads a loader config, its manifest and its list of files, and
// reports everything that is wrong with them at once, in file order. The plan
// is nil if a problem is an error; warnings alone come with a plan, which
// holds them too. Check looks at data files' sizes, not into them, and needs
// no TensorFlow.
func Check(path string, o *CheckOptions) (*Plan, diag.List) {
	return nil, nil
}
