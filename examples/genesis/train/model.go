package main

import (
	"millrace/estimator"
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// characters is the number of ASCII characters, units the size of the LSTM's state.
const characters, units = 128, 128

// writer is a recurrent network that predicts the next character of a text.
func writer() *layers.Model {
	return &layers.Model{
		Features: []layers.TensorSpec{{Name: "text", DType: tfbridge.Uint8, Shape: tfbridge.MakeShape(-1, -1)}},
		Function: network,
		Modes:    []layers.Mode{layers.Predict},
	}
}

// network adds the layers. At every position of the text the logits predict the next
// character from all characters up to there.
func network(n *layers.Net, features, _ layers.Tensors) *layers.Spec {
	x := graph.Cast(n.Scope, features["text"], tfbridge.Int32)
	x = layers.Embedding(n, x, characters, 32, nil)
	x = layers.LSTM(n, x, units, &layers.RecurrentOptions{ReturnSequences: true})
	return &layers.Spec{Predictions: layers.Tensors{"logits": layers.Dense(n, x, characters, nil)}}
}

// objective returns the loss and optimizer, which are the same as in run.json.
func objective() *estimator.Objective {
	adam := optimizer.NewAdam()
	adam.LearningRate = optimizer.CosineDecay{InitialLearningRate: 0.01, DecaySteps: steps}
	return &estimator.Objective{
		Loss:   losses.Loss{Type: losses.SparseSoftmaxCrossEntropy},
		Labels: "next", Predictions: "logits",
		Optimizer: adam, ClipNorm: 1,
	}
}
