package main

import (
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// classifier is a small convolutional network that reads digits of 8 by 8 pixels.
func classifier() *layers.Model {
	return &layers.Model{
		Features: []layers.TensorSpec{{Name: "image", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 8, 8)}},
		Labels:   []layers.TensorSpec{{Name: "label", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}},
		Function: network,
	}
}

// network adds the layers, and in training and evaluation the loss.
func network(n *layers.Net, features, labels layers.Tensors) *layers.Spec {
	x := graph.NewTensor(n.Scope, features["image"]).Reshape(-1, 8, 8, 1).Output()
	x = layers.Conv2D(n, x, 16, []int64{3, 3}, &layers.ConvOptions{Activation: layers.Relu})
	x = layers.Conv2D(n, x, 32, []int64{3, 3}, &layers.ConvOptions{Activation: layers.Relu})
	logits := layers.Dense(n, layers.Flatten(n, x), 10, nil)
	spec := &layers.Spec{Predictions: layers.Tensors{
		"digit":         graph.NewTensor(n.Scope, logits).ArgMax(1).Output(),
		"probabilities": layers.Softmax(n, logits),
	}}
	if n.Mode != layers.Predict {
		loss := losses.Loss{Type: losses.SparseSoftmaxCrossEntropy}
		spec.Loss = loss.Add(n.Scope, losses.Values{Labels: labels["label"], Predictions: logits})
		spec.Optimizer = optimizer.NewAdam()
	}
	return spec
}
