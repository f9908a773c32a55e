package stage

import (
	"fmt"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Step is a processing step of any type.
type Step struct {
	spec.Step
	Key string // where the step is in the config
}

func steps(c engine.Choice) (list []Stage) {
	for i, s := range c.Steps {
		list = append(list, Step{s, fmt.Sprintf("args.processing_steps[%d]", i)})
	}
	return list
}

// Explain says what the step does.
func (s Step) Explain() Explained {
	return Explained{Name: s.Type(), What: s.Step.Explain(), Tensors: tensorsOf(s.Result())}
}
