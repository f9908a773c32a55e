package estimator

import "millrace/loaders"

// ReadNames reads from the SavedModel in dir what [Model.Names] gives. The
// model is checked but not loaded: no TensorFlow is needed, and the contents
// of its variables are left for the loading to check.
func ReadNames(dir string, o *ModelOptions) (*loaders.ModelNames, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	_, signature, err := o.read(dir)
	if err != nil {
		return nil, err
	}
	return (&Model{dir: dir, signature: signature}).Names(), nil
}
