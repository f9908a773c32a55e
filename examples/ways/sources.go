package main

import (
	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/variable"
	"millrace/tfbridge"
)

// batchSize is the size of a batch in all ways; read.json has the same.
const batchSize = 32

// fed gives batches that Go cuts and feeds.
func fed(d *digits) estimator.Source {
	return estimator.FromValues(map[string]graph.Spec{
		"image": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(batchSize, 8, 8)},
		"label": {DType: tfbridge.Int64, Shape: tfbridge.MakeShape(batchSize)},
	}, func(yield func(map[string]any, error) bool) {
		for first := 0; ; first += batchSize {
			image, label, err := d.cut(first)
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(map[string]any{"image": image, "label": label}, nil)
			image.Close()
			if !more {
				return
			}
		}
	})
}

// cut returns the batch that starts at a row; after the last row comes the first again.
// The caller closes the images.
func (d *digits) cut(first int) (*tfbridge.Tensor, []int64, error) {
	pixels, err := tfbridge.View[float32](d.image)
	if err != nil {
		return nil, nil, err
	}
	labels, err := tfbridge.View[int64](d.label)
	if err != nil {
		return nil, nil, err
	}
	var image []float32
	var label []int64
	for i := range batchSize {
		row := (first + i) % len(labels)
		image, label = append(image, pixels[row*64:][:64]...), append(label, labels[row])
	}
	cut, err := tfbridge.NewTensorFromSlice([]int64{batchSize, 8, 8}, image)
	return cut, label, err
}

// row is a digit, and batches of them.
type row struct {
	Image tfbridge.Output `tf:"image"`
	Label tfbridge.Output `tf:"label"`
}

// batches is a dataset of batches of the rows of two tensors, repeated without end.
func batches(s *graph.Scope, all row) *dataset.Dataset {
	return dataset.FromColumns(s, all).Repeat(-1).Batch(batchSize, true)
}

// constant gives batches of two constants, which are a part of the graph.
func constant(d *digits) estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return batches(s, row{s.Const(d.image), s.Const(d.label)})
	})
}

// preloaded gives batches of two variables. When the training starts, they are fed
// with all of the data, once.
func preloaded(d *digits) estimator.Source {
	return estimator.FromOutputs(func(s *graph.Scope) *estimator.Outputs {
		image := variable.NewLocal(s, tfbridge.Float, tfbridge.MakeShape(d.image.Shape()...))
		label := variable.NewLocal(s, tfbridge.Int64, tfbridge.MakeShape(d.label.Shape()...))
		it := batches(s, row{image.InitializedValue(s), label.InitializedValue(s)}).Iterator("iterator")
		next := it.NextInline()
		return &estimator.Outputs{
			Tensors: map[string]tfbridge.Output{"image": next[0], "label": next[1]},
			Init:    []*tfbridge.Operation{it.Init},
			Feeds:   map[tfbridge.Output]*tfbridge.Tensor{image.Placeholder: d.image, label.Placeholder: d.label},
		}
	})
}
