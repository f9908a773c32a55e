package stage

import (
	"fmt"
	"strings"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Step is a processing step of any type.
type Step struct {
	spec.Step
	Key string // the step's location in the config
}

func steps(c engine.Choice) (list []Stage) {
	for _, s := range c.Steps {
		list = append(list, Step{s, fmt.Sprintf("args.processing_steps[%d]", s.Index)})
	}
	return list
}

// Explain describes the step: its input, its parameters, and the tensor that it makes if
// that has another name.
func (s Step) Explain() Explained {
	if s.Filters() {
		return Explained{Name: s.Type, What: s.Action.Explain()}
	}
	what := strings.Join(s.Reads, ", ")
	if s.Action == nil {
		return Explained{Name: s.Type, What: what}
	}
	if p := s.Action.Explain(); p != "" && what != "" {
		what += ", " + p
	} else {
		what += p
	}
	if len(s.Reads) != 1 || s.Reads[0] != s.Writes {
		what += " -> " + s.Writes
	}
	return Explained{Name: s.Type, What: what, Tensors: tensorsOf(s.Result())}
}

// count says that a filter keeps an unknown number of examples. For people who wait it is at most
// the number before.
func (s Step) count(in Count, d Data) (Count, bool) { return in, !s.Filters() || d.Expect }
