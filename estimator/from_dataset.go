package estimator

import (
	"context"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// FromDataset returns the source of a tf.data dataset. The function build adds
// the dataset to the graph of s, which is the model's; its elements are
// batches. The names are the names of the components, in order. Without names,
// the components have the names of the elements' fields. All components must be
// dense tensors.
//
// Each run starts the dataset from the beginning. Its position cannot be saved.
func FromDataset(build func(s *graph.Scope) *dataset.Dataset, names ...string) Source {
	return sourceFunc(func(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
		d := build(s)
		names, err := componentNames(d.Spec(), names)
		if failed := s.Err(); failed != nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
		it := d.Iterator("iterator")
		tensors := map[string]tfbridge.Output{}
		for i, component := range it.NextInline() {
			tensors[names[i]] = component
		}
		return newGraphPipeline(s, names, &Outputs{Tensors: tensors, Init: []*tfbridge.Operation{it.Init}})
	})
}

// componentNames returns the names of the components of a dataset's elements.
func componentNames(element *dataset.Structure, names []string) ([]string, error) {
	leaves := element.Leaves()
	if len(names) == 0 && element.Kind == dataset.KindFields {
		names = element.Keys
	}
	switch {
	case len(leaves) == 0:
		return nil, millrace.Errorf(millrace.ErrModel, "the dataset has no components")
	case len(names) == 0:
		return nil, millrace.Errorf(millrace.ErrModel, "the components of %v have no names; give them", element)
	case len(names) != len(leaves):
		return nil, millrace.Errorf(millrace.ErrModel, "%d names for the %d components of %v", len(names), len(leaves), element)
	}
	for i, leaf := range leaves {
		if leaf.Kind != dataset.KindDense {
			return nil, millrace.Errorf(millrace.ErrModel, "component %q is a %v; only dense tensors feed a model", names[i], leaf)
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, millrace.Errorf(millrace.ErrModel, "two components are named %q", names[i])
		}
	}
	return names, nil
}
