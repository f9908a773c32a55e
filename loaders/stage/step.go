package stage

import (
	"fmt"
	"strings"

	"millrace/loaders/engine"
	"millrace/loaders/processing/batches"
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
	for _, b := range c.BatchSteps {
		hidden := spec.Step{Type: b.Type, Action: b.Draws(), Index: b.Number, Random: true, Writes: b.DrawsName()}
		list = append(list, Step{hidden, fmt.Sprintf("args.batch_steps[%d]", b.Index)})
	}
	return list
}

// BatchSteps are the steps that work on whole batches.
type BatchSteps struct{ Steps []batches.Step }

func batchSteps(c engine.Choice) []Stage {
	if len(c.BatchSteps) == 0 {
		return nil
	}
	return []Stage{BatchSteps{c.BatchSteps}}
}

// Explain lists the steps.
func (b BatchSteps) Explain() Explained {
	var all []string
	for _, x := range b.Steps {
		all = append(all, x.Explain())
	}
	return Explained{Name: "batch_steps", What: strings.Join(all, "; ")}
}

// Explain describes the step: its input, its parameters, and the tensor that it makes if
// that has another name.
func (s Step) Explain() Explained {
	if strings.HasPrefix(s.Key, "args.batch_steps") {
		return Explained{Name: s.Type, What: s.Action.Explain()}
	}
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
