package layers

import (
	"cmp"
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// Attention is keras.layers.Attention: dot products of query and value decide how much of
// each position of value a position of query gets. Both have the shape [batch,
// positions, features].
func Attention(n *Net, query, value tfbridge.Output) tfbridge.Output {
	scores := n.f("BatchMatMulV2", map[string]any{"adj_y": true}, query, value)
	return n.f("BatchMatMulV2", nil, Softmax(n, scores), value)
}

// AdditiveAttention is keras.layers.AdditiveAttention: the scores are sums of
// tanh(query + value), weighed by a variable. name "" is additive_attention, ...
func AdditiveAttention(n *Net, query, value tfbridge.Output, name string) tfbridge.Output {
	scale := n.Variable(n.Layer(name, "additive_attention")+"/scale", []int64{last(query)}, nil)
	s := n.Scope
	sums := Tanh(n, graph.Add(s, graph.ExpandDims(s, query, 2), graph.ExpandDims(s, value, 1)))
	scores := n.f("Sum", nil, graph.Mul(s, scale, sums), s.Const(int32(-1)))
	return n.f("BatchMatMulV2", nil, Softmax(n, scores), value)
}

// GroupedQueryAttention is keras.layers.GroupQueryAttention: a MultiHeadAttention whose
// heads share AttentionOptions.ValueHeads pairs of key and value heads. AttentionOptions.KeySize is Keras's
// head_dim.
func GroupedQueryAttention(n *Net, query, value tfbridge.Output, heads int64, o *AttentionOptions) tfbridge.Output {
	if o == nil {
		o = &AttentionOptions{}
	}
	name := n.Layer(o.Name, "grouped_query_attention")
	queryHeads, valueHeads := heads, cmp.Or(o.ValueHeads, heads)
	if queryHeads < 1 || valueHeads < 1 || queryHeads%valueHeads != 0 {
		n.fail("%s: %d query heads cannot share %d key and value heads", name, queryHeads, valueHeads)
		return tfbridge.Output{}
	}
	s, size := n.Scope, cmp.Or(o.KeySize, last(query)/queryHeads)
	project := func(kind string, x tfbridge.Output, heads int64) tfbridge.Output {
		kernel := n.Variable(name+"/"+kind+"/kernel", []int64{last(x), heads, size}, nil)
		bias := n.Variable(name+"/"+kind+"/bias", []int64{heads, size}, &VariableOptions{Initializer: Zeros})
		return graph.Add(s, n.einsum("bqm,muh->bquh", x, kernel), bias)
	}
	q, k, v := project("query", query, queryHeads), project("key", value, valueHeads), project("value", value, valueHeads)
	kernel := n.Variable(name+"/attention_output/kernel", []int64{queryHeads, size, last(query)}, nil)
	bias := n.Variable(name+"/attention_output/bias", []int64{last(query)}, &VariableOptions{Initializer: Zeros})
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	k, v = n.repeatHeads(k, valueHeads, queryHeads/valueHeads, size), n.repeatHeads(v, valueHeads, queryHeads/valueHeads, size)
	q = graph.Mul(s, q, s.Const(float32(1/math.Sqrt(float64(size)))))
	weights := Softmax(n, n.maskScores(n.einsum("bquh,bkuh->buqk", q, k), o))
	return graph.Add(s, n.einsum("bquh,uhm->bqm", n.einsum("buqk,bkuh->bquh", weights, v), kernel), bias)
}

// repeatHeads repeats each head, of shape [batch, positions, heads, size].
func (n *Net) repeatHeads(x tfbridge.Output, heads, times, size int64) tfbridge.Output {
	if times == 1 {
		return x
	}
	s := n.Scope
	copies := make([]tfbridge.Output, times)
	for i := range copies {
		copies[i] = x
	}
	outer := graph.Subscript(s, graph.Shape(s, x), graph.Until(2))
	shape := graph.ConcatV2(s, []tfbridge.Output{outer, s.Const([]int64{heads * times, size})}, 0)
	return graph.Reshape(s, graph.Pack(s, copies, 3), shape)
}
