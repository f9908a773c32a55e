package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Recurrent is a recurrent layer: [LSTM], [GRU] or [SimpleRNN].
type Recurrent func(n *Net, x tfbridge.Output, units int64, o *RecurrentOptions) tfbridge.Output

// Merge says how the outputs of both directions become one.
type Merge string

// The ways to merge, as in Keras.
const (
	MergeConcat Merge = ""    // the last dimension has both
	MergeSum    Merge = "sum" // their sum
	MergeMul    Merge = "mul" // their product
	MergeAve    Merge = "ave" // their mean
)

// BidirectionalOptions are the options of a bidirectional layer. Nil and the zero
// value mean Keras's defaults.
type BidirectionalOptions struct {
	Name            string // "": bidirectional, bidirectional_1, ...
	Merge           Merge
	ReturnSequences bool            // see RecurrentOptions
	Lengths         tfbridge.Output // likewise
}

// Bidirectional is keras.layers.Bidirectional: one recurrent layer runs over the steps from
// first to last, another one from last to first. The result has the shape of the layer's
// result; with MergeConcat, its last dimension is twice as large.
func Bidirectional(n *Net, x tfbridge.Output, layer Recurrent, units int64, o *BidirectionalOptions) tfbridge.Output {
	if o == nil {
		o = &BidirectionalOptions{}
	}
	names := &wrapped{outer: n.Layer(o.Name, "bidirectional")}
	in := func(backward bool) tfbridge.Output {
		return layer(n, x, units, &RecurrentOptions{
			ReturnSequences: o.ReturnSequences, Lengths: o.Lengths, direction: &direction{names: names, backward: backward},
		})
	}
	forward, backward := in(false), in(true)
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	switch o.Merge {
	case MergeConcat:
		return graph.ConcatV2(n.Scope, []tfbridge.Output{forward, backward}, -1)
	case MergeSum:
		return graph.Add(n.Scope, forward, backward)
	case MergeMul:
		return graph.Mul(n.Scope, forward, backward)
	case MergeAve:
		return graph.Mul(n.Scope, graph.Add(n.Scope, forward, backward), n.Const(float32(0.5)))
	}
	n.fail("%s: there is no way %q to merge; there are concat, %q, %q and %q", names.outer, o.Merge, MergeSum, MergeMul, MergeAve)
	return tfbridge.Output{}
}

// wrapped holds the names of a bidirectional layer and of the layer in it.
type wrapped struct{ outer, inner string }

// direction is one direction of a bidirectional layer. Nil is forward, alone.
type direction struct {
	names    *wrapped
	backward bool
}

// layer names a recurrent layer. Both directions are named after one layer, as in
// Keras: bidirectional/forward_lstm and bidirectional/backward_lstm.
func (d *direction) layer(n *Net, name, kind string) string {
	if d == nil {
		return n.Layer(name, kind)
	}
	if d.names.inner == "" {
		d.names.inner = n.Layer(name, kind)
	}
	if d.backward {
		return d.names.outer + "/backward_" + d.names.inner
	}
	return d.names.outer + "/forward_" + d.names.inner
}

// step returns the step of an iteration, counted from 0. In the backward direction the
// steps after an example's length come first, and do not change its state.
func (d *direction) step(s *graph.Scope, iteration, steps tfbridge.Output) tfbridge.Output {
	if d == nil || !d.backward {
		return iteration
	}
	return graph.Sub(s, graph.Sub(s, steps, s.Const(int32(1))), iteration)
}
