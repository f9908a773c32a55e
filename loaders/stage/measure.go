package stage

import (
	"fmt"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Measure adds a tensor that holds the size of another one, or a mask of it.
type Measure struct {
	spec.Measure
	Out spec.TensorSpec
}

func measures(c engine.Choice) (list []Stage) {
	for _, m := range c.Measures {
		list = append(list, Measure{m, c.Tensor(m.To)})
	}
	return list
}

// Explain says what is measured.
func (m Measure) Explain() Explained {
	of := "of"
	if m.Records {
		of = "of the records of"
	}
	what := fmt.Sprintf("%s, %s %s along axis %d", m.To, of, m.Tensor, m.Axis)
	return Explained{Name: string(m.Kind), What: what, Tensors: tensorsOf(m.Out)}
}
