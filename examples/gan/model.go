package main

import (
	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// gan is a generator, which makes points from noise, and a discriminator, which
// distinguishes them from real points. A step trains both, each by its own loss and
// optimizer.
func gan() *layers.Model {
	points := func(name string) layers.TensorSpec {
		return layers.TensorSpec{Name: name, DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 2)}
	}
	return &layers.Model{Features: []layers.TensorSpec{points("noise")}, Labels: []layers.TensorSpec{points("real")}, Function: networks, Seed: 1}
}

// networks adds the generator, and in training and evaluation the discriminator.
func networks(n *layers.Net, features, labels layers.Tensors) *layers.Spec {
	hidden := layers.Dense(n, features["noise"], 16, &layers.DenseOptions{Name: "generator/hidden", Activation: layers.Relu})
	made := layers.Dense(n, hidden, 2, &layers.DenseOptions{Name: "generator/points"})
	spec := &layers.Spec{Predictions: layers.Tensors{"points": made}}
	if n.Mode == layers.Predict {
		return spec
	}
	s := n.Scope
	both := layers.Concatenate(n, 0, labels["real"], made)
	hidden = layers.Dense(n, both, 32, &layers.DenseOptions{Name: "discriminator/hidden", Activation: layers.LeakyRelu})
	logits := graph.Squeeze(s, layers.Dense(n, hidden, 1, &layers.DenseOptions{Name: "discriminator/logit"}), 1)
	entropy := &losses.Loss{Type: losses.SigmoidCrossEntropy}
	isReal := graph.ConcatV2(s, []tfbridge.Output{ones(n, labels["real"]), graph.ZerosLike(s, ones(n, made))}, 0)
	ofMade := graph.RowsFrom(s, logits, graph.Subscript(s, graph.Shape(s, labels["real"]), graph.At(0)))

	spec.Loss = entropy.Add(s, losses.Values{Labels: ones(n, made), Predictions: ofMade}) // the generator tries to have its points classified as real
	spec.Optimizer, spec.Variables = adam(), []string{"generator/"}
	spec.Also = []layers.Part{{
		Name: "discriminator_loss", Loss: entropy.Add(s, losses.Values{Labels: isReal, Predictions: logits}),
		Optimizer: adam(), Variables: []string{"discriminator/"},
	}}
	return spec
}

// ones returns a one for each row.
func ones(n *layers.Net, x tfbridge.Output) tfbridge.Output {
	return n.Op1("OnesLike", nil, graph.Subscript(n.Scope, x, graph.Whole(), graph.At(0)))
}

// adam is the optimizer of both.
func adam() *optimizer.Adam {
	o := optimizer.NewAdam()
	o.LearningRate, o.Beta1 = optimizer.Constant(0.005), 0.5
	return o
}
