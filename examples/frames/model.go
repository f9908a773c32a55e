package main

import (
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// contextFrames is how many frames the model sees on each side of a frame.
const contextFrames = 7

// classifier recognizes the phoneme of each frame from the frames around it. The
// convolution has no padding, so its output is 2 x contextFrames frames shorter than
// its input. The provider adds as many frames as context: the neighbours of a chunk,
// and zeros only where a recording begins and ends.
func classifier() *layers.Model {
	return &layers.Model{
		Features: []layers.TensorSpec{
			{Name: "data", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, -1, bands)},
			{Name: "data/size0", DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
		},
		Labels:   []layers.TensorSpec{{Name: "classes", DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1, -1)}},
		Function: network,
		Seed:     14,
	}
}

// network adds the layers, and in training and evaluation the loss.
func network(n *layers.Net, features, labels layers.Tensors) *layers.Spec {
	image := graph.ExpandDims(n.Scope, features["data"], 2) // [batch, time, 1, bands]
	x := layers.Conv2D(n, image, 64, []int64{2*contextFrames + 1, 1}, &layers.ConvOptions{Activation: layers.Relu})
	x = graph.Squeeze(n.Scope, x, 2)
	x = layers.Dense(n, x, 64, &layers.DenseOptions{Activation: layers.Relu})
	logits := layers.Dense(n, x, int64(len(phones)), nil)
	weights := frameWeights(n.Scope, logits, features["data/size0"])
	spec := &layers.Spec{Predictions: layers.Tensors{"scores": logits, "weights": weights}}
	if n.Mode != layers.Predict {
		loss := losses.Loss{Type: losses.SparseSoftmaxCrossEntropy, Reduction: losses.MeanWithSampleWeight}
		spec.Loss = loss.Add(n.Scope, losses.Values{Labels: labels["classes"], Predictions: logits, Weights: weights})
		spec.Optimizer = optimizer.NewAdam()
	}
	return spec
}

// frameWeights returns 1 for each frame of a row, and 0 for its padding: float32
// [batch, time].
func frameWeights(s *graph.Scope, logits, sizes tfbridge.Output) tfbridge.Output {
	frames := graph.Subscript(s, graph.Shape(s, logits), graph.At(1))
	position := graph.Range(s, s.Const(int64(0)), frames, s.Const(int64(1)))
	count := graph.Sub(s, graph.Cast(s, sizes, tfbridge.Int64), s.Const(int64(2*contextFrames)))
	return graph.Cast(s, graph.Less(s, position, graph.ExpandDims(s, count, 1)), tfbridge.Float)
}
