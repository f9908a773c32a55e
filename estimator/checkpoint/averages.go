package checkpoint

import "millrace/dtype"

// Weights returns the specs under which a checkpoint holds the weights to evaluate, to
// export and to begin with: the moving averages of the variables that have one, and the
// variables themselves otherwise. They have the order of specs.
func (c *Checkpoint) Weights(specs []dtype.TensorSpec) []dtype.TensorSpec {
	list := make([]dtype.TensorSpec, len(specs))
	for i, v := range specs {
		list[i] = v
		if average, ok := c.Tensor(c.Info.Averages[v.Name]); ok && average.DType == v.DType && average.Shape.String() == v.Shape.String() {
			list[i].Name = average.Name
		}
	}
	return list
}
