package stage

import (
	"fmt"
	"slices"
	"strings"

	"millrace/loaders/engine"
	"millrace/loaders/processing"
	"millrace/loaders/processing/batches"
	"millrace/loaders/spec"
)

// Step is a processing step of any type.
type Step struct {
	spec.Step
	Key string // the step's location in the config

	CutBy   *spec.Step // the step that cuts a part out of the image that this step decodes, if no other one reads it
	Decoder *spec.Step // the step whose CutBy is this one

	Chain  *engine.ImageChain // the run of steps on whole batches of images that the step belongs to; nil: none
	Words  *engine.WordChain  // the run of steps on whole batches of texts that the step belongs to; nil: none
	Draws  []int              // numbers of the steps that draw in the run, if this is its last step
	Closes bool               // whether this is its last step
}

func steps(c engine.Choice) (list []Stage) {
	decoders := map[int]*spec.Step{} // keys: indexes of the steps that cut
	for i := range c.Steps {
		x := Step{Step: c.Steps[i], Key: fmt.Sprintf("args.processing_steps[%d]", c.Steps[i].Index), Decoder: decoders[i]}
		if cut, ok := cutOf(c.Steps, i); ok {
			x.CutBy, decoders[cut] = &c.Steps[cut], &c.Steps[i]
		}
		list = append(list, x)
	}
	for _, chain := range engine.ImageChains(c) {
		var draws []int
		for _, i := range chain.Steps {
			x := list[i].(Step)
			x.Chain = &chain
			if x.Random {
				draws = append(draws, x.Index)
			}
			if i == chain.Steps[len(chain.Steps)-1] {
				x.Draws, x.Closes = draws, true
			}
			list[i] = x
		}
	}
	for _, chain := range engine.WordChains(c) {
		for _, i := range chain.Steps {
			x := list[i].(Step)
			x.Words, x.Closes = &chain, i == chain.Steps[len(chain.Steps)-1]
			list[i] = x
		}
	}
	for _, b := range c.BatchSteps {
		hidden := spec.Step{Type: b.Type, Action: b.Draws(), Index: b.Number, Random: true, Writes: b.DrawsName()}
		list = append(list, Step{Step: hidden, Key: fmt.Sprintf("args.batch_steps[%d]", b.Index)})
	}
	return list
}

// cutOf returns the index of the step that cuts a part out of the image that step i decodes. There
// is none if another step reads the image, or if the batch has it.
func cutOf(steps []spec.Step, i int) (int, bool) {
	if _, ok := steps[i].Action.(processing.Decoder); !ok {
		return 0, false
	}
	image := steps[i].Writes
	for k := i + 1; k < len(steps); k++ {
		x := steps[k]
		if !slices.Contains(x.Reads, image) {
			if x.Writes == image || slices.Contains(x.Drops, image) {
				return 0, false // nothing cuts it
			}
			continue
		}
		_, cuts := x.Action.(processing.Part)
		return k, cuts && (x.Writes == image || slices.Contains(x.Drops, image))
	}
	return 0, false
}

// BatchSteps are the steps that work on whole batches. Behind says which processing steps are
// carried out before each of them, and after the last one.
type BatchSteps struct {
	Steps  []batches.Step
	Behind [][]Step
	Last   []spec.TensorSpec // the tensors after the steps; nil where no processing step changes them
	rows   int64
}

func batchSteps(c engine.Choice) []Stage {
	if len(c.BatchSteps)+len(c.BatchedSteps) == 0 {
		return nil
	}
	b := BatchSteps{Steps: c.BatchSteps, Behind: make([][]Step, len(c.BatchSteps)+1)}
	if len(c.BatchedSteps) > 0 {
		b.rows, b.Last = c.BatchRows(), c.Tensors
	}
	for _, s := range c.BatchedSteps {
		at := min(s.After, len(c.BatchSteps)) // a plan of requests has no batch steps
		b.Behind[at] = append(b.Behind[at], Step{Step: s, Key: fmt.Sprintf("args.processing_steps[%d]", s.Index)})
	}
	return []Stage{b}
}

// Explain lists the steps.
func (b BatchSteps) Explain() Explained {
	var all []string
	for i, behind := range b.Behind {
		for _, x := range behind {
			e := x.Explain()
			all = append(all, strings.TrimSpace(e.Name+" "+e.What))
		}
		if i < len(b.Steps) {
			all = append(all, b.Steps[i].Explain())
		}
	}
	e := Explained{Name: "batch_steps", What: strings.Join(all, "; "), Tensors: tensorsOf(b.Last...)}
	for i := range e.Tensors {
		e.Tensors[i].Shape = append([]int64{b.rows}, e.Tensors[i].Shape...)
	}
	return e
}

// DrawsForBatch reports whether the step makes what a step on whole batches draws for an example.
func (s Step) DrawsForBatch() bool { return strings.HasPrefix(s.Key, "args.batch_steps") }

// Explain describes the step: its input, its parameters, and the tensor that it makes if
// that has another name.
func (s Step) Explain() Explained {
	if s.DrawsForBatch() {
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
	if s.CutBy != nil {
		what += fmt.Sprintf("; of a JPEG no more than the part that %s takes", s.CutBy.Type)
	}
	return Explained{Name: s.Type, What: what, Tensors: tensorsOf(s.Result())}
}

// count says that a filter keeps an unknown number of examples. For people who wait it is at most
// the number before.
func (s Step) count(in Count, d Data) (Count, bool) { return in, !s.Filters() || d.Expect }
