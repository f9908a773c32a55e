package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// activationRules are the rules of activations, normalizations and losses.
var activationRules = map[string]rule{
	"Relu":      one(func(c *call) tfbridge.Output { return c.f("ReluGrad", c.d(0), c.y(0)) }),
	"Relu6":     one(func(c *call) tfbridge.Output { return c.f("Relu6Grad", c.d(0), c.y(0)) }),
	"LeakyRelu": one(func(c *call) tfbridge.Output { return c.fa("LeakyReluGrad", c.attrs("alpha"), c.d(0), c.x(0)) }),
	"Elu":       one(func(c *call) tfbridge.Output { return c.f("EluGrad", c.d(0), c.y(0)) }),
	"Selu":      one(func(c *call) tfbridge.Output { return c.f("SeluGrad", c.d(0), c.y(0)) }),
	"Softplus":  one(func(c *call) tfbridge.Output { return c.f("SoftplusGrad", c.d(0), c.x(0)) }),
	"Softsign":  one(func(c *call) tfbridge.Output { return c.f("SoftsignGrad", c.d(0), c.x(0)) }),
	"Softmax": one(func(c *call) tfbridge.Output {
		return c.mul(c.sub(c.d(0), c.sumLast(c.mul(c.d(0), c.y(0)))), c.y(0))
	}),
	"LogSoftmax": one(func(c *call) tfbridge.Output {
		return c.sub(c.d(0), c.mul(c.sumLast(c.d(0)), c.f("Exp", c.y(0))))
	}),
	"SparseSoftmaxCrossEntropyWithLogits": one(crossEntropy),
	"SoftmaxCrossEntropyWithLogits": func(c *call) []tfbridge.Output {
		return []tfbridge.Output{crossEntropy(c), c.lazy(1, func() tfbridge.Output {
			return c.neg(c.mul(graph.ExpandDims(c.Scope, c.d(0), -1), c.f("LogSoftmax", c.x(0))))
		})}
	},
	"CTCLoss": one(func(c *call) tfbridge.Output {
		if c.dy[1].Op != nil {
			c.fail("its second output is a derivative already")
			return tfbridge.Output{}
		}
		each := graph.ExpandDims(c.Scope, graph.ExpandDims(c.Scope, c.d(0), 0), -1)
		return c.mul(each, c.y(1))
	}),
	"FusedBatchNorm": fusedBatchNormRule, "FusedBatchNormV2": fusedBatchNormRule, "FusedBatchNormV3": fusedBatchNormRule,
	"LRN": one(func(c *call) tfbridge.Output {
		return c.fa("LRNGrad", c.attrs("depth_radius", "bias", "alpha", "beta"), c.d(0), c.x(0), c.y(0))
	}),
}

// crossEntropy is the derivative with respect to the logits, which the operation
// has computed along with the loss.
func crossEntropy(c *call) tfbridge.Output {
	if c.dy[1].Op != nil {
		c.fail("its second output is a derivative already")
		return tfbridge.Output{}
	}
	return c.mul(graph.ExpandDims(c.Scope, c.d(0), -1), c.y(1))
}

// fusedBatchNormRule is the rule of batch normalization. In the inference form, mean
// and variance are inputs, and the result is a linear function of x.
func fusedBatchNormRule(c *call) []tfbridge.Output {
	for i := 1; i < len(c.dy); i++ {
		if c.dy[i].Op != nil {
			return c.fail("the mean and the variance of the batch are used")
		}
	}
	a := c.attrs("epsilon", "data_format", "is_training")
	training, _ := a["is_training"].(bool)
	op := map[string]string{"FusedBatchNorm": "FusedBatchNormGrad", "FusedBatchNormV2": "FusedBatchNormGradV2", "FusedBatchNormV3": "FusedBatchNormGradV3"}[c.typ]
	mean, variance := c.x(3), c.x(4)
	if training {
		mean, variance = c.y(3), c.y(4) // the operation returns them for this
	}
	inputs := []tfbridge.Output{c.d(0), c.x(0), c.x(1), mean, variance}
	if op == "FusedBatchNormGradV3" {
		inputs = append(inputs, c.y(5))
	}
	d := c.ops(op, a, inputs...)
	if c.Err() != nil {
		return nil
	}
	if c.active[3] || c.active[4] {
		return c.fail("its mean or variance is to be trained")
	}
	return d[:3]
}
