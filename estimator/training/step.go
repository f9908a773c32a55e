package training

import (
	"slices"
	"strings"

	"millrace/estimator/checkpoint"
	"millrace/estimator/internal/varname"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// Step is a completed step.
type Step struct {
	Step    int64
	Loss    float64
	Scalars map[string]float64    // the scalar outputs of the signature, the loss among them
	Batch   *steps.Batch          // progress of this training so far, without Step, Loss and Scalars
	Total   Progress              // what this training did so far, without Step, Loss and Scalars
	Trace   *tfbridge.RunMetadata // metadata of a step in Options.Profile; nil for other steps

	training *training
}

// NamedTensor is a tensor with the name of the variable or gradient whose value it is.
type NamedTensor struct {
	Name string
	*tfbridge.Tensor
}

// GradientsPrefix is the prefix of the names of outputs that are gradients.
const GradientsPrefix = "millrace/gradients/"

// Gradients returns the gradients of the loss with respect to the trained
// variables, before clipping, by the names of the variables. There are none unless
// Options.Gradients asks for them and an Objective trains. They are valid until
// the hook returns, and belong to the Batch.
func (s *Step) Gradients() []NamedTensor {
	var all []NamedTensor
	for _, name := range s.Batch.Names() {
		if of, ok := strings.CutPrefix(name, GradientsPrefix); ok {
			all = append(all, NamedTensor{of, s.Batch.Tensor(name)})
		}
	}
	return all
}

// Variables reads the values that the model's variables have after the step. The
// caller closes them.
func (s *Step) Variables() ([]NamedTensor, error) {
	values, err := s.training.subject.readValues()
	if err != nil {
		return nil, s.training.subject.Error(err)
	}
	slots := s.training.subject.Slots
	var all []NamedTensor
	for i, spec := range s.training.subject.Values.Specs() {
		if slices.ContainsFunc(slots, func(v checkpoint.Variable) bool { return v.Name == spec.Name }) {
			values[i].Close()
			continue
		}
		all = append(all, NamedTensor{varname.Trimmed(spec.Name), values[i]})
	}
	return all, nil
}
