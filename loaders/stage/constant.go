package stage

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Constant adds a secondary feature of type const.
type Constant struct{ spec.Const }

func constants(c engine.Choice) (list []Stage) {
	for _, constant := range c.Secondaries {
		list = append(list, Constant{constant})
	}
	return list
}

// Explain says which value the tensor has.
func (c Constant) Explain() Explained {
	what := fmt.Sprintf("%s, %s everywhere", c.To, showValue(c.Value))
	if c.ShapeFrom != "" {
		what += ", in the shape of " + c.ShapeFrom
	}
	return Explained{Name: "const", What: what, Tensors: tensorsOf(spec.TensorSpec{Name: c.To, DType: c.DType, Shape: c.Shape})}
}

// showValue returns a value as it is written in a config.
func showValue(v any) string {
	if s, ok := v.(string); ok {
		return decl.Quote(s)
	}
	return fmt.Sprint(v)
}
