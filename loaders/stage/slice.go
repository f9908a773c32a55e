package stage

import (
	"fmt"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Slice is a processing step that takes a part of a tensor.
type Slice struct {
	spec.Slice
	Key string // where the step is in the config
}

func steps(c engine.Choice) (list []Stage) {
	for i, s := range c.Steps {
		list = append(list, Slice{s, fmt.Sprintf("args.processing_steps[%d]", i)})
	}
	return list
}

// Explain says which part is taken.
func (s Slice) Explain() Explained {
	return Explained{Name: "slice", What: s.Tensor + ", " + s.Text, Tensors: tensorsOf(s.Out)}
}
