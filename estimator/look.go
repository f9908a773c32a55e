package estimator

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// GraphDef returns the model's graph with all pipelines that were joined to it, a
// serialized tensorflow.GraphDef.
func (m *Model) GraphDef(ctx context.Context) ([]byte, error) {
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	var def bytes.Buffer
	if _, err := m.model.Graph().WriteTo(&def); err != nil {
		return nil, err
	}
	return def.Bytes(), nil
}

// NamedTensor is a tensor with the name of what it is the value of.
type NamedTensor struct {
	Name string
	*tfbridge.Tensor
}

// gradientsPrefix begins the names of a step's gradients.
const gradientsPrefix = "millrace/gradients/"

// addGradients has a step yield the gradients too.
func (p *Pipeline) addGradients() error {
	if p.step == nil {
		return nil
	}
	names, err := variableNames(p)
	if err != nil {
		return err
	}
	for i, v := range p.step.Variables {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: gradientsPrefix + names[v.Node].name(v), Output: p.step.Gradients[i]})
	}
	return nil
}

// Gradients returns the gradients of the loss with respect to the trained
// variables, before clipping, by the names of the variables. There are none unless
// TrainOptions.Gradients asks for them and an Objective trains. They are valid until
// the hook returns, and belong to the Batch.
func (s *Step) Gradients() []NamedTensor {
	var all []NamedTensor
	for _, name := range s.Batch.Names() {
		if of, ok := strings.CutPrefix(name, gradientsPrefix); ok {
			all = append(all, NamedTensor{of, s.Batch.Tensor(name)})
		}
	}
	return all
}

// Variables reads the values that the model's variables have after the step. The
// caller closes them.
func (s *Step) Variables() ([]NamedTensor, error) {
	values, err := s.training.readValues()
	if err != nil {
		return nil, s.training.pipe.modelError(err)
	}
	slots := s.training.pipe.Slots()
	var all []NamedTensor
	for i, spec := range s.training.values.Specs() {
		if slices.ContainsFunc(slots, func(v checkpoint.Variable) bool { return v.Name == spec.Name }) {
			values[i].Close()
			continue
		}
		all = append(all, NamedTensor{variablePath(spec), values[i]})
	}
	return all, nil
}

// variablePath is the name of a variable without what all have.
func variablePath(v dtype.TensorSpec) string { return strings.TrimSuffix(v.Name, valueSuffix) }
