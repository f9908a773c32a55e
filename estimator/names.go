package estimator

import (
	"millrace/loaders"
	"millrace/savedmodel"
)

// ReadNames reads from the SavedModel in dir what [Model.Names] gives. The
// model is checked but not loaded: no TensorFlow is needed, and the contents
// of its variables are left for the loading to check.
func ReadNames(dir string, o *ModelOptions) (*loaders.ModelNames, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	checked, err := savedmodel.Read(dir, &savedmodel.Options{
		Tags: o.Tags, AllowOps: o.AllowOps, SHA256: o.SHA256, SkipTensorChecksums: true,
	})
	if err != nil {
		return nil, err
	}
	signature, err := choose(checked, o.Signature)
	if err != nil {
		return nil, err
	}
	return (&Model{dir: dir, signature: signature}).Names(), nil
}
