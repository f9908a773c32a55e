package run

import (
	"slices"

	"millrace/graph/steps"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Waste sums the amount of padding in each padded tensor.
type Waste struct {
	tensors []wasted
}

// wasted holds the sums of one padded tensor over its batches so far.
type wasted struct {
	plan.PaddedTensor
	elements int64 // number of elements, with padding
	data     int64 // number of elements, without padding
}

// NewWaste returns a Waste for the tensors that [plan.Plan.MeasurePadding]
// returned. [Waste.Add] takes the batches of the plan that MeasurePadding
// returned with them.
func NewWaste(tensors []plan.PaddedTensor) *Waste {
	w := &Waste{}
	for _, t := range tensors {
		w.tensors = append(w.tensors, wasted{PaddedTensor: t})
	}
	return w
}

// TensorWaste is the amount of padding in a tensor.
type TensorWaste struct {
	Tensor string  `json:"tensor"`
	Share  float64 `json:"share"` // padding as a part of its elements in all batches, from 0 to 1
}

// Known reports whether all shares are known without reading batches.
func (w *Waste) Known() bool {
	return !slices.ContainsFunc(w.tensors, func(x wasted) bool { return x.Counter != "" })
}

// Add adds a batch of the plan that measures padding.
func (w *Waste) Add(b *steps.Batch) error {
	for i := range w.tensors {
		x := &w.tensors[i]
		if x.Counter == "" {
			continue
		}
		counts, err := tfbridge.View[int64](b.Tensor(x.Counter))
		if err != nil {
			return err
		}
		for _, n := range counts {
			x.data += n
		}
		x.elements += spec.NumElements(b.Tensor(x.Name).Shape())
	}
	return nil
}

// Tensors returns the share of padding in each padded tensor, in the order of
// the config; nil if no tensor is padded.
func (w *Waste) Tensors() []TensorWaste {
	var list []TensorWaste
	for _, x := range w.tensors {
		if x.elements > 0 {
			x.Share = 1 - float64(x.data)/float64(x.elements)
		}
		list = append(list, TensorWaste{Tensor: x.Name, Share: x.Share})
	}
	return list
}
