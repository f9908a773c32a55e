package build

import (
	"millrace"
	"millrace/graph/dataset"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
)

// loader builds what is particular to a loader type.
type loader interface {
	// batches builds the stages from the files up to batches of the plan's
	// tensors, for all epochs.
	batches(b *builder) *dataset.Dataset

	// probe builds a dataset over one epoch that has an element if the loader
	// gives a batch at all, and ends if not. It returns nil if the dataset that
	// batches returns ends by itself, although it is repeated without end.
	probe(b *builder) *dataset.Dataset
}

// placer is a loader that may know which records a batch is made of.
type placer interface {
	// place returns what [order.Place] does.
	place(b *builder) func(first, rows int64) string
}

// builders builds each loader type.
var builders = map[spec.LoaderType]loader{
	spec.Independent:        independent{},
	spec.ContinuousSequence: sequence{positions{}},
	spec.DiscreteSequence:   sequence{wholeRecords{}},
	spec.ChunkedSequence:    chunked{},
}

// loaderOf returns the loader of a plan's type.
func loaderOf(p *plan.Plan) (loader, error) {
	l, ok := builders[p.Type]
	if !ok {
		return nil, millrace.Errorf(millrace.ErrInternal, "nothing builds loaders of type %q", p.Type)
	}
	return l, nil
}
