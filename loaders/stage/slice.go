package stage

import (
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Slice is a processing step that takes a part of a tensor.
type Slice struct{ spec.Slice }

func steps(c engine.Choice) (list []Stage) {
	for _, s := range c.Steps {
		list = append(list, Slice{s})
	}
	return list
}

// Explain says which part is taken.
func (s Slice) Explain() Explained {
	return Explained{Name: "slice", What: s.Tensor + ", " + s.Text, Tensors: tensorsOf(s.Out)}
}
