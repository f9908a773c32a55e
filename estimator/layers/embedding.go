package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// EmbeddingOptions are the options of an embedding. Nil and the zero value mean
// Keras's defaults.
type EmbeddingOptions struct {
	Name        string      // "": embedding, embedding_1, ...
	Initializer Initializer // nil: RandomUniform
}

// Embedding is keras.layers.Embedding: a row of a matrix for each index in x, an int32 or
// int64 tensor of any shape. The time of a training step with SGD or Adagrad does not
// depend on the number of rows: the step reads and changes only the rows of the batch.
func Embedding(n *Net, x tfbridge.Output, rows, size int64, o *EmbeddingOptions) tfbridge.Output {
	if o == nil {
		o = &EmbeddingOptions{}
	}
	init := o.Initializer
	if init == nil {
		init = RandomUniform{}
	}
	v := n.variable(n.Layer(o.Name, "embedding")+"/embeddings", []int64{rows, size}, &VariableOptions{Initializer: init})
	if v == nil {
		return tfbridge.Output{}
	}
	return n.f("ResourceGather", map[string]any{"dtype": v.DType}, v.handle, x)
}

// Dropout is keras.layers.Dropout: in mode Train, it sets a share of the elements to 0, and
// divides the others by the remaining share. The choice depends on the model's seed and the
// number of the step, so a run resumed from a checkpoint draws the same.
func Dropout(n *Net, x tfbridge.Output, rate float64) tfbridge.Output {
	layer := n.names["dropout"]
	n.names["dropout"]++
	if n.Mode != Train || rate == 0 || n.Err() != nil {
		return x
	}
	if !(rate > 0 && rate < 1) {
		n.fail("dropout: the rate is %v; it must be at least 0 and less than 1", rate)
		return tfbridge.Output{}
	}
	s := n.Scope
	seed := graph.Pack(s, []tfbridge.Output{s.Const(n.store.seed*1000 + int64(layer)), n.step}, 0)
	noise := n.f("StatelessRandomUniform", nil, graph.Shape(s, x), seed)
	keep := graph.GreaterEqual(s, noise, s.Const(float32(rate)))
	scaled := graph.Mul(s, x, s.Const(float32(1/(1-rate))))
	return graph.Select(s, keep, scaled, graph.ZerosLike(s, x))
}
