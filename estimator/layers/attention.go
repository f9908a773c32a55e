package layers

import (
	"cmp"
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// AttentionOptions are the options of attention. Nil and the zero value mean Keras's
// defaults.
type AttentionOptions struct {
	Name       string // "": multi_head_attention, multi_head_attention_1, ...
	KeySize    int64  // size of a head, Keras's key_dim; 0: the size of query's features divided by the number of heads
	ValueHeads int64  // GroupedQueryAttention: the number of key and value heads; 0: as many as there are heads
	Causal     bool   // a position attends to itself and those before it only

	// Lengths is how many positions of each example's value are not padding, an
	// integer vector. The zero Output means all.
	Lengths tfbridge.Output
}

// MultiHeadAttention is keras.layers.MultiHeadAttention: each position of query, of
// shape [batch, positions, features], attends to the positions of value. The result
// has the shape of query.
func MultiHeadAttention(n *Net, query, value tfbridge.Output, heads int64, o *AttentionOptions) tfbridge.Output {
	if o == nil {
		o = &AttentionOptions{}
	}
	name := n.Layer(o.Name, "multi_head_attention")
	if heads <= 0 {
		n.fail("%s: the number of heads is %d", name, heads)
		return tfbridge.Output{}
	}
	s, keySize := n.Scope, cmp.Or(o.KeySize, last(query)/heads)
	project := func(kind string, x tfbridge.Output) tfbridge.Output {
		kernel := n.Variable(name+"/"+kind+"/kernel", []int64{last(x), heads, keySize}, nil)
		bias := n.Variable(name+"/"+kind+"/bias", []int64{heads, keySize}, &VariableOptions{Initializer: Zeros})
		return graph.Add(s, n.einsum("abc,cde->abde", x, kernel), bias)
	}
	q, k, v := project("query", query), project("key", value), project("value", value)
	kernel := n.Variable(name+"/attention_output/kernel", []int64{heads, keySize, last(query)}, nil)
	bias := n.Variable(name+"/attention_output/bias", []int64{last(query)}, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	q = graph.Mul(s, q, s.Const(float32(1/math.Sqrt(float64(keySize)))))
	scores := n.einsum("aecd,abcd->acbe", k, q)
	weights := Softmax(n, n.maskScores(scores, o))
	return graph.Add(s, n.einsum("abcd,cde->abe", n.einsum("acbe,aecd->abcd", weights, v), kernel), bias)
}

// einsum adds an Einsum of two tensors.
func (n *Net) einsum(equation string, x, y tfbridge.Output) tfbridge.Output {
	return n.Op1("Einsum", map[string]any{"equation": equation}, tfbridge.OutputList{x, y})
}

// maskScores makes scores of positions that do not count so low that their weight is
// zero. Scores have the shape [batch, heads, queries, keys].
func (n *Net) maskScores(scores tfbridge.Output, o *AttentionOptions) tfbridge.Output {
	s := n.Scope
	shape := graph.Shape(s, scores)
	positions := func(axis int64) tfbridge.Output {
		size := graph.Subscript(s, shape, graph.At(axis))
		return graph.Range(s, s.Const(int64(0)), size, s.Const(int64(1)))
	}
	hide := func(hidden tfbridge.Output) {
		low := graph.Mul(s, graph.Cast(s, hidden, tfbridge.Float), s.Const(float32(-1e9)))
		scores = graph.Add(s, scores, low)
	}
	if o.Causal {
		hide(graph.Greater(s, positions(3), graph.ExpandDims(s, positions(2), -1)))
	}
	if o.Lengths.Op != nil {
		ends := graph.Reshape(s, graph.Cast(s, o.Lengths, tfbridge.Int64), s.Const([]int64{-1, 1, 1, 1}))
		hide(graph.GreaterEqual(s, positions(3), ends))
	}
	return scores
}
